# A dump carries what expires and how. While it is restored, and until somebody says that it is complete, the worker of
# the server leaves the attached tables alone: rows that are needed by others may still be missing.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use POSIX ':sys_wait_h';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;
use IdemTestCleanup;

my $source = idem_node('source');
my $target = cleanup_node('target');
my $dumps = PostgreSQL::Test::Utils::tempdir();

my @from = ('pg_dump', '--dbname', $source->connstr('postgres'));

$source->safe_psql('postgres', <<'SQL');
CREATE TABLE orders (id integer PRIMARY KEY, at timestamptz);
CREATE INDEX ON orders (at);
INSERT INTO orders SELECT i, now() - interval '1 day' FROM generate_series(1, 20000) AS i;
INSERT INTO orders VALUES (0, now());
SELECT idem_expire_attach('orders', 'at', '1 hour');
SQL
# No other table yet: a new server that numbers its tables from the same number on will give this one the same OID.
command_ok([ @from, '--file', "$dumps/first.sql" ], 'pg_dump, with one attached table');
$source->safe_psql('postgres', <<'SQL');
CREATE TABLE lines (id integer REFERENCES orders ON DELETE CASCADE);
CREATE INDEX ON lines (id);
INSERT INTO lines SELECT i FROM generate_series(0, 20000) AS i;
CREATE TABLE visits (id integer, day date);
CREATE INDEX ON visits (day);
INSERT INTO visits SELECT i, current_date - 3 FROM generate_series(1, 1000) AS i;
CREATE TABLE old_visits (LIKE visits);
SELECT idem_expire_attach('visits', 'day', '1 day', action => 'archive', archive => 'old_visits');
SELECT idem_scope_set('kept', on_expiry => 'archive', retain => '1 ms', lease => '1 ms');
SELECT FROM idem_begin('done', retain => '1 year');
SELECT idem_finish('done', '{"id": 1}');
SELECT FROM generate_series(1, 100) AS i, idem_begin('old ' || i, 'kept');
SQL
wait_until($source, q{idem_purge() >= 0 AND NOT EXISTS (SELECT FROM idem_records WHERE scope = 'kept')},
	'archived records');
$source->safe_psql('postgres', <<'SQL');
CREATE TABLE idem_archive_2021_01 PARTITION OF idem_archive
	FOR VALUES FROM ('2021-01-01 00:00:00+00') TO ('2021-02-01 00:00:00+00');
INSERT INTO idem_archive SELECT (jsonb_populate_record(a, '{"archived_at": "2021-01-15"}')).* FROM idem_archive AS a;
SQL
my $rows = q{SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM lines), (SELECT count(*) FROM visits),
	(SELECT count(*) FROM old_visits), (SELECT count(*) FROM idem_records WHERE status = 'finished'),
	(SELECT string_agg(DISTINCT tableoid::regclass::text, ' ') FROM idem_archive), (SELECT count(*) FROM idem_archive)};
my $expected = $source->safe_psql('postgres', $rows);
like($expected, qr/^20001\|20001\|1000\|0\|1\|idem_archive_2021_01 idem_archive_\d{4}_\d\d\|200$/,
	'what there is to restore');

command_ok([ @from, '--file', "$dumps/plain.sql" ], 'pg_dump, plain');
command_ok([ @from, '--format=custom', '--file', "$dumps/custom" ], 'custom');
command_ok([ @from, '--format=directory', '--jobs=2', '--file', "$dumps/directory" ], 'directory');
$source->safe_psql('postgres', 'SELECT idem_cleanup_pause()');
command_ok([ @from, '--file', "$dumps/paused.sql" ], 'and of a database in which cleanup is paused');
$source->stop;

# Restores while somebody keeps sending the worker there.
sub restore
{
	my ($database, @command) = @_;
	$target->safe_psql('postgres', "CREATE DATABASE $database TEMPLATE template0") if $database ne 'postgres';
	my $hasty = IdemTest::Session->new($target, $database);
	local $ENV{PGOPTIONS} = '-c client_min_messages=warning';
	my $log = "$dumps/$database.log";
	my $pid = fork // die "fork: $!";
	if ($pid == 0)
	{
		open STDOUT, '>', $log;
		open STDERR, '>&', \*STDOUT;
		exec @command, '--dbname', $target->connstr($database) or POSIX::_exit(127);
	}
	wait_for(
		sub { $hasty->query('SELECT idem_cleanup_now();'); return waitpid($pid, WNOHANG) == $pid },
		"restore of $database");
	is($?, 0, "$database: restored without an error") or diag(slurp_file($log));
	$hasty->close;
	return;
}

sub visited
{
	my ($database) = @_;
	my $before = $target->safe_psql($database, 'SELECT clock_timestamp()');
	$target->safe_psql($database, 'SELECT idem_cleanup_now()');
	until_sql($target, $database, "SELECT bool_and(last_success_at > '$before') FROM idem_stat_cleanup
		WHERE relation IN ('idem_records'::regclass, 'idem_producers'::regclass)");
	return;
}

sub check_held
{
	my ($database) = @_;
	visited($database);
	is($target->safe_psql($database, $rows), $expected, "$database: after a visit of the worker all is still there");
	is($target->safe_psql($database, "SELECT relation, action, state FROM idem_stat_cleanup ORDER BY relation::text"),
		"idem_producers|delete|waiting\nidem_records|policy|waiting\norders|delete|held\nvisits|archive|held", "$database: attached tables are held");
	return;
}

sub check_goes_on
{
	my ($database) = @_;
	until_sql($target, $database, 'SELECT (SELECT count(*) FROM orders) = 1 AND (SELECT count(*) FROM visits) = 0');
	is($target->safe_psql($database, 'SELECT (SELECT count(*) FROM lines), (SELECT count(*) FROM old_visits)'), '1|1000',
		"$database: then rows go, with those that belong to them, or are moved");
	$target->safe_psql($database, "SELECT FROM idem_begin('new', 'kept')");
	until_sql($target, $database,
		"SELECT idem_cleanup_now() IS NOT NULL AND EXISTS (SELECT FROM idem_archive WHERE key = 'new')");
	pass("$database: records are archived");
	is($target->safe_psql($database, "SELECT outcome, result FROM idem_begin('done')"), 'replayed|{"id": 1}',
		"$database: a result is replayed");
	return;
}

my @psql = ('psql', '--no-psqlrc', '--quiet', '--set', 'ON_ERROR_STOP=1');
my @pg_restore = ('pg_restore', '--exit-on-error');
$target->safe_psql('postgres', 'DROP EXTENSION pg_idem');

restore('plain', @psql, '--file', "$dumps/plain.sql");
check_held('plain');
is($target->safe_psql('plain', 'SELECT idem_cleanup_resume()'), 't', 'idem_cleanup_resume says that it is complete');
check_goes_on('plain');

restore('custom', @pg_restore, "$dumps/custom");
check_held('custom');
$target->safe_psql('custom', "SELECT idem_expire_attach('orders', 'at', '1 hour')");
is(status($target, 'state', 'custom', 'visits'), 'held', 'idem_expire_attach does it for one table');
$target->safe_psql('custom',
	"SELECT idem_expire_attach('visits', 'day', '1 day', action => 'archive', archive => 'old_visits')");
check_goes_on('custom');

restore('directory', @pg_restore, '--jobs=2', "$dumps/directory");
check_held('directory');
$target->safe_psql('directory', 'SELECT idem_cleanup_resume()');
check_goes_on('directory');

restore('paused', @psql, '--file', "$dumps/paused.sql");
is($target->safe_psql('paused', 'SELECT string_agg(DISTINCT state, chr(32) ORDER BY state) FROM idem_stat_cleanup'),
	'held paused',
	'a pause is restored as well');
is($target->safe_psql('paused', $rows), $expected, 'nothing goes');
is($target->safe_psql('paused', 'SELECT idem_cleanup_resume()'), 't', 'resumed');
check_goes_on('paused');

my $fresh = PostgreSQL::Test::Cluster->new('fresh');
$fresh->init;
$fresh->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_idem'\nidem.cleanup_naptime = '1s'");
$fresh->start;
$target->stop;
$target = $fresh;
restore('postgres', @psql, '--file', "$dumps/first.sql");
note('OID of the table now and then: ',
	$target->safe_psql('postgres', 'SELECT rel::oid, table_oid FROM idem_expiries'));
visited('postgres');
is($target->safe_psql('postgres', 'SELECT count(*) FROM orders'), 20001,
	'a new server: all is there after a visit of the worker');
is(status($target, 'state', 'postgres', 'orders'), 'held', 'and the table is held');
unlike(slurp_file($target->logfile), qr/WARNING:|FATAL:/, 'the log has nothing to say about it');

done_testing();
