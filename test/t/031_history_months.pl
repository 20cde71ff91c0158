# The history of state machines is kept by the month: the worker makes months in time and drops old ones, whoever writes
# or reads meanwhile; a dump carries all of it, the definitions and the source of its numbers.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;
use IdemTestCleanup;

my $node = cleanup_node('history');

sub run { my ($sql) = @_; return $node->safe_psql('postgres', $sql); }

# Until the worker has been here, from beginning to end.
sub visit
{
	my $since = run('SELECT clock_timestamp()');
	run('SELECT idem_cleanup_now()');
	return wait_until($node,
		"(SELECT started_at > '$since' AND state <> 'running' FROM idem_stat_cleanup WHERE action = 'policy')", 'visit');
}

# A transition, as a statement.
sub entry
{
	my ($event, $at) = @_;
	$at //= 'now()';
	return 'INSERT INTO idem_history (at, attachment, key, key_hash, machine, machine_version, from_state, to_state, event, xid, role) '
	  . qq{VALUES ($at, 'public.orders.status', '{"id": 1}', 1, 'order', 1, 'new', 'paid', '$event', }
	  . 'pg_current_xact_id(), current_user);';
}

sub partitions
{
	return run(q{SELECT coalesce(string_agg(inhrelid::regclass::text, ' ' ORDER BY inhrelid::regclass::text), '')
		FROM pg_inherits WHERE inhparent = 'idem_history'::regclass});
}

sub where_is
{
	my ($event) = @_;
	return run("SELECT tableoid::regclass FROM idem_history WHERE event = '$event'");
}

sub make_month
{
	my ($table, $year, $month) = @_;
	run(sprintf q{CREATE TABLE %1$s_%2$04d_%3$02d PARTITION OF %1$s
		FOR VALUES FROM ('%2$04d-%3$02d-01 00:00:00+00') TO ('%2$04d-%4$02d-01 00:00:00+00')},
		$table, $year, $month, $month + 1);
	return;
}

# Of the months in which a test that runs now may need partitions; two of them in a month's last week.
my $months = run(q{SELECT string_agg(DISTINCT to_char(day, '"idem_history_"YYYY_MM'), ' ')
	FROM unnest(ARRAY[now() AT TIME ZONE 'UTC', now() AT TIME ZONE 'UTC' + interval '7 days']) AS day});
my ($month) = split / /, $months;

visit();
is(partitions(), '', 'no month is made for a history that nobody keeps');

# Who writes to the default partition is not waited for, and what is written there is moved.
run('SELECT idem_cleanup_pause(); CREATE TABLE idem_history_default PARTITION OF idem_history DEFAULT');
my $writer = IdemTest::Session->new($node);
$writer->query('BEGIN; ' . entry('early'));
run('SELECT idem_cleanup_resume()');
my $position = log_since($node);
visit();
is(partitions(), 'idem_history_default', 'no month is made while a transaction writes to the default partition');
is(run("SET statement_timeout = '@{[ IdemTest::DEADLINE ]}s'; SELECT idem_purge()"), '0', 'nor by idem_purge, which does not wait for it');
is(partitions(), 'idem_history_default', 'the month is still to be made');
is(status($node, 'errors, last_error', 'postgres', 'idem_records'), '0|', 'which is no failure');
unlike(log_since($node, $position), qr/(?:WARNING|ERROR|FATAL|PANIC):/, 'and no message');
$writer->query('COMMIT;');
visit();
is(partitions(), "$months idem_history_default",
	'the next visit makes the month, and the next one a week ahead');
is(where_is('early'), $month, 'what was written before is there');
run(entry('in time'));
is(where_is('in time'), $month, 'what is written later goes there');
$writer->close;

# Old months go by the retention of the history, not by that of the archive.
make_month('idem_history', 2021, $_) for 1 .. 3;
make_month('idem_archive', 2021, $_) for 1 .. 2;
run(entry('old', "'2021-03-01'"));
my $reader = IdemTest::Session->new($node);
$reader->query('BEGIN; SELECT count(*) FROM idem_history_2021_02;');
configure($node, 'idem.history_retention' => '365d');
wait_until($node, q{current_setting('idem.history_retention') = '365d'}, 'setting');
run('SELECT idem_cleanup_now()');
wait_until($node, q{to_regclass('idem_history_2021_01') IS NULL}, 'oldest month');
visit();
is(where_is('old'), 'idem_history_2021_03', 'a month that is read waits, and so do those after it');
is(status($node, 'errors, last_error', 'postgres', 'idem_records'), '0|', 'which is no failure');
$reader->query('COMMIT;');
$reader->close;
run('SELECT idem_cleanup_now()');
wait_until($node, q{to_regclass('idem_history_2021_03') IS NULL}, 'old months');
is(run('SELECT count(*) FROM idem_history'), '2', 'in the end all old months are dropped, and nothing else');
is(run(q{SELECT count(*) FROM pg_inherits WHERE inhparent = 'idem_archive'::regclass}), '2', 'the archive stays');

# A month that cannot be made or dropped is shown, and stops nothing else.
$position = log_since($node);
make_month('idem_history', 2021, 5);
run(<<"SQL");
SELECT idem_cleanup_pause();
CREATE VIEW dependent AS SELECT * FROM idem_history_2021_05;
CREATE TABLE items (id integer, at timestamptz);
CREATE INDEX ON items (at);
INSERT INTO items VALUES (1, now() - interval '1 day');
SELECT idem_expire_attach('items', 'at', '1 hour');
SELECT idem_cleanup_resume();
SQL
wait_until($node, 'NOT EXISTS (SELECT FROM items)', 'rows of an attached table');
wait_until($node, q{(SELECT last_error ~ 'idem_history_2021_05' FROM idem_stat_cleanup WHERE action = 'policy')}, 'error');
pass('a month that cannot be dropped is shown, and other tables are cleaned');
run(<<"SQL");
DROP TABLE $month;
CREATE TABLE $month (id integer);
DROP VIEW dependent;
SELECT idem_cleanup_now();
SQL
wait_until($node, "(SELECT last_error ~ '\\m$month\\M' FROM idem_stat_cleanup WHERE action = 'policy')", 'error');
wait_until($node, q{to_regclass('idem_history_2021_05') IS NULL}, 'old month');
pass('so is one that cannot be made, and old ones are dropped');
run(entry('after all'));
is(where_is('after all'), 'idem_history_default', 'while its transitions go to the default partition');
run("DROP TABLE $month; SELECT idem_cleanup_now()");
wait_until($node, "EXISTS (SELECT FROM pg_inherits WHERE inhrelid = to_regclass('$month'))", 'month');
is(where_is('after all'), $month, 'until the month can be made');
until_logged($node, $position, qr/cleanup of database "postgres" works again after \d+ failures?/);

# A restore has made its first month, and nothing is in it yet.
$node->safe_psql('postgres', 'CREATE DATABASE half_restored TEMPLATE template0');
$node->safe_psql('half_restored', <<'SQL');
CREATE EXTENSION pg_idem;
CREATE TABLE idem_history_2099_01 (LIKE idem_history INCLUDING ALL);
ALTER TABLE idem_history ATTACH PARTITION idem_history_2099_01
	FOR VALUES FROM ('2099-01-01 00:00:00+00') TO ('2099-02-01 00:00:00+00');
SELECT idem_purge();
SQL
is($node->safe_psql('half_restored', q{SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'idem_history'::regclass}),
	'idem_history_2099_01', 'nobody makes a month that the restore will make');

# A dump and restore, with all its months.
run(<<'SQL' . entry('last') . entry('elsewhere', "now() + interval '5 years'"));
SELECT idem_cleanup_pause();
INSERT INTO idem_machines VALUES ('order', 1, 'stateDiagram-v2', '2021-01-01', 'somebody'),
	('order', 2, 'stateDiagram-v2', '2021-01-02', 'somebody');
SQL
my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';
command_ok([ 'pg_dump', '--dbname', $node->connstr('postgres'), '--file', $dump ], 'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored TEMPLATE template0');
command_ok(
	[ 'psql', '--no-psqlrc', '--quiet', '--set', 'ON_ERROR_STOP=1', '--dbname', $node->connstr('restored'), '--file', $dump ],
	'restored without an error');
my $state = <<'SQL';
SELECT tableoid::regclass, h FROM idem_history AS h ORDER BY id;
SELECT m FROM idem_machines AS m;
SELECT indexdef FROM pg_indexes WHERE tablename ~ '^idem_history' ORDER BY indexdef;
SQL
is($node->safe_psql('restored', $state), run($state), 'history, definitions and indexes are the same');
$node->safe_psql('restored', entry('after the restore'));
is($node->safe_psql('restored', q{SELECT event FROM idem_history ORDER BY id DESC LIMIT 1}), 'after the restore',
	'later transitions have higher numbers');

done_testing();
