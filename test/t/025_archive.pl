# Records of a scope with on_expiry => 'archive' are moved, completely and exactly once, into the partition of the
# month; months that are old enough are dropped, and nobody who reads the archive has to wait for that.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;
use IdemTestCleanup;

my $node = cleanup_node('archive', 'idem.cleanup_batch' => 50);

sub run { my ($sql) = @_; return $node->safe_psql('postgres', $sql); }

# Does not leave it to the worker to find out that there is something to do.
sub visited_until
{
	my ($expression, $what) = @_;
	run('SELECT idem_cleanup_now()');
	return wait_until($node, $expression, $what);
}

my $archived = 'NOT EXISTS (SELECT FROM idem_records)';

# Of the months in which a test that runs now may need partitions; two of them in a month's last week.
my $months = q{(SELECT DISTINCT to_char(day, '"idem_archive_"YYYY_MM') AS month
	FROM unnest(ARRAY[now() AT TIME ZONE 'UTC', now() AT TIME ZONE 'UTC' + interval '7 days']) AS day)};

sub partitions
{
	return run(q{SELECT string_agg(inhrelid::regclass::text, ' ' ORDER BY inhrelid::regclass::text) FROM pg_inherits
		WHERE inhparent = 'idem_archive'::regclass AND inhrelid::regclass::text <> 'idem_archive_default'});
}

# Somebody's table has the name that a partition needs.
my $squatted = run("SELECT min(month) FROM $months AS m");
run(<<"SQL");
CREATE TABLE $squatted (id integer);
CREATE TABLE other (id integer, at timestamptz);
CREATE INDEX ON other (at);
INSERT INTO other VALUES (1, now() - interval '1 day');
SELECT idem_cleanup_pause();
SELECT idem_expire_attach('other', 'at', '1 hour');
SELECT idem_scope_set('kept', on_expiry => 'archive', retain => '1 ms');
SELECT FROM idem_begin('early', 'kept', lease => '1 ms');
SELECT idem_cleanup_resume();
SQL
wait_until($node, q{(SELECT last_error IS NOT NULL FROM idem_stat_cleanup WHERE action = 'policy')}, 'error');
is(status($node, 'state, last_error', 'postgres', 'idem_records'), qq{failing|relation "$squatted" already exists},
	'another table with the name of a partition: the view says what is wrong');
is(run('SELECT count(*) FROM idem_records'), '1', 'no record goes');
wait_until($node, 'NOT EXISTS (SELECT FROM other)', 'rows of an attached table');
is(status($node, 'state, errors', 'postgres', 'other'), 'waiting|0', 'other tables are cleaned');
run("DROP TABLE $squatted");
visited_until($archived, 'archived after all');
is(run('SELECT key FROM idem_archive'), 'early', 'once it is out of the way, records are archived');
is(partitions(), run("SELECT string_agg(month, ' ' ORDER BY month) FROM $months AS m"),
	'into a partition of the month; the next one is made a week ahead');

# Everything about a record is kept.
run(<<'SQL');
SELECT idem_cleanup_pause();
SELECT FROM idem_begin('done', 'kept', fingerprint => '\x01', owner => 'me', lease => '1 ms');
SELECT idem_finish('done', '{"id": 1}', 'kept', code => 201, body => '\x00ff');
SELECT FROM idem_begin('abandoned', 'kept', lease => '200 ms');
SELECT idem_checkpoint('abandoned', 'paid', '{"charge": 7}', 'kept');
SELECT FROM idem_begin('gone', lease => '1 ms', retain => '1 ms');
CREATE TABLE originals AS SELECT * FROM idem_records WHERE scope = 'kept';
SQL
wait_until($node, 'now() > max(lease_expires_at) FROM originals', 'end of the lease');
run('SELECT idem_cleanup_resume()');
wait_until($node, $archived, 'records are archived');
my $columns = run(q{SELECT string_agg(quote_ident(attname), ', ' ORDER BY attname) FROM pg_attribute
	WHERE attrelid = 'idem_records'::regclass AND attnum > 0 AND NOT attisdropped});
is( run("SELECT count(*) FROM (SELECT $columns FROM originals INTERSECT SELECT $columns FROM idem_archive) AS same"),
	'2', 'all columns of a record are in the archive');
is(run("SELECT count(*) FROM idem_archive WHERE key = 'gone'"), '0', 'records of other scopes are not');
is(run('SELECT count(*) FROM idem_archive WHERE archived_at NOT BETWEEN expires_at AND now()'), '0',
	'with the time of the move');

# Old months go, each in a transaction of its own: the first, while somebody reads the second.
sub make_month
{
	my ($year, $month) = @_;
	my $name = sprintf 'idem_archive_%04d_%02d', $year, $month;
	my @bounds = map { sprintf '%04d-%02d-01 00:00:00+00', @$_ } [ $year, $month ], [ $year, $month + 1 ];
	run("CREATE TABLE $name PARTITION OF idem_archive FOR VALUES FROM ('$bounds[0]') TO ('$bounds[1]');
		INSERT INTO idem_archive SELECT (jsonb_populate_record(a, '{\"archived_at\": \"$bounds[0]\"}')).*
			FROM idem_archive AS a WHERE key = 'done' LIMIT 1");
	return;
}

my $recent = partitions();
make_month(2021, $_) for 1 .. 4;
run(q{CREATE TABLE by_hand PARTITION OF idem_archive FOR VALUES FROM ('2020-01-01') TO ('2020-12-01')});
my $reader = IdemTest::Session->new($node);
$reader->query('BEGIN; SELECT count(*) FROM idem_archive_2021_02;');
$node->append_conf('postgresql.conf', "idem.archive_retention = '365d'");
my $errors = status($node, 'errors', 'postgres', 'idem_records');
my $position = log_since($node);
$node->reload;
wait_until($node, q{current_setting('idem.archive_retention') = '365d'}, 'setting');
visited_until(q{to_regclass('idem_archive_2021_01') IS NULL}, 'oldest month');
is(partitions(), "by_hand idem_archive_2021_02 idem_archive_2021_03 idem_archive_2021_04 $recent",
	'the oldest month is dropped, the one that is read waits');
my $blocked = q{EXISTS (SELECT FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND NOT granted)};
wait_until($node, $blocked, 'attempt to drop the month');
is( run("SET statement_timeout = '@{[ IdemTest::DEADLINE ]}s';
		SELECT count(*) FROM idem_archive WHERE key = 'done' AND archived_at < '2022-01-01'"), '3',
	'another reader gets through meanwhile');
run("SELECT FROM idem_begin('late', 'kept', lease => '1 ms')");
visited_until($archived, 'records are archived');
pass('and so do new records');
$reader->query('COMMIT;');
visited_until(q{to_regclass('idem_archive_2021_04') IS NULL}, 'old months');
is(partitions(), "by_hand $recent", 'in the end all old months are dropped, and nothing else');
is(status($node, 'errors', 'postgres', 'idem_records'), $errors, 'to wait for a reader is no failure');
unlike(log_since($node, $position), qr/(?:WARNING|ERROR|FATAL|PANIC):/, 'and no message');
$reader->close;

# A partition that cannot be dropped is shown, and stops nothing else.
make_month(2021, 5);
run('CREATE VIEW dependent AS SELECT * FROM idem_archive_2021_05');
visited_until(q{(SELECT last_error ~ 'idem_archive_2021_05' FROM idem_stat_cleanup WHERE action = 'policy')}, 'error');
run("SELECT FROM idem_begin('latest', 'kept', lease => '1 ms')");
visited_until($archived, 'records are archived');
pass('a month that cannot be dropped is reported, and archiving goes on');
run('DROP VIEW dependent');
visited_until(q{to_regclass('idem_archive_2021_05') IS NULL}, 'month without its view');

# What others let PUBLIC do with new tables holds for no partition.
run(<<"SQL");
SELECT idem_cleanup_pause();
DROP TABLE @{[ join ', ', split / /, $recent ]};
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC;
CREATE ROLE anybody;
SELECT FROM idem_begin('private', 'kept', lease => '1 ms');
SELECT idem_cleanup_resume();
SQL
wait_until($node, $archived, 'records are archived');
is(partitions(), "by_hand $recent", 'partitions are made again');
is( run(q{SELECT count(*) FROM pg_inherits WHERE inhparent = 'idem_archive'::regclass AND inhrelid::regclass::text <> 'idem_archive_default'
		AND inhrelid::regclass::text ~ 'idem'
		AND has_table_privilege('anybody', inhrelid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')}),
	'0', 'and open to nobody');

# A month that passed with nobody there to make it.
my $missed = run(q{INSERT INTO idem_archive_default
	SELECT (jsonb_populate_record(a, jsonb_build_object('archived_at', now() - interval '70 days'))).*
	FROM idem_archive AS a WHERE key = 'private' RETURNING to_char(archived_at AT TIME ZONE 'UTC', '"idem_archive_"YYYY_MM')});
visited_until('NOT EXISTS (SELECT FROM idem_archive_default)', 'the month that was missed');
is(partitions(), "by_hand $missed $recent", 'what is left in the default partition gets its month, too');

# However often the server dies in the middle, each record is in one place.
my $records = 3000;
run(<<"SQL");
SELECT idem_cleanup_pause();
TRUNCATE idem_archive;
CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN PERFORM pg_sleep(0.0005); RETURN OLD; END \$\$;
CREATE TRIGGER dawdle BEFORE DELETE ON idem_records FOR EACH ROW EXECUTE FUNCTION dawdle();
SELECT FROM generate_series(1, $records) AS i, idem_begin('key ' || i, 'kept', lease => '1 ms');
SELECT idem_cleanup_resume();
SQL
for my $round (1 .. 5)
{
	my $some = 500 * $round;
	wait_until($node, "(SELECT count(*) >= $some FROM idem_archive)", 'records are archived');
	my $worker;
	wait_for(sub { $worker = run(q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'pg_idem cleanup'}) }, 'worker');
	kill 'KILL', $worker;
	wait_until($node, "NOT pg_is_in_recovery() AND NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $worker)",
		'recovery');
	is( run('SELECT count(*), count(DISTINCT key)
			FROM (SELECT key FROM idem_records UNION ALL SELECT key FROM idem_archive) AS b'),
		"$records|$records", "killed $round times: nothing is lost or doubled");
}
run('DROP TRIGGER dawdle ON idem_records');
wait_until($node, $archived, 'records are archived');
is(run('SELECT count(*), count(DISTINCT key) FROM idem_archive'), "$records|$records",
	'and in the end all are archived');

done_testing();
