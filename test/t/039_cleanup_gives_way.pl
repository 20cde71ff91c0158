# Whoever locks the tables of the extension before he comes to the extension itself, as DROP SCHEMA does, is in no
# deadlock with the worker: it waits for no table.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;
use IdemTestCleanup;

my $node = cleanup_node(
	'way',
	'deadlock_timeout' => '10ms',
	'log_lock_waits' => 'on',
	'autovacuum' => 'off',
	'log_min_messages' => 'debug1');

sub run { my ($sql) = @_; return $node->safe_psql('postgres', $sql); }

run(<<'SQL');
DROP EXTENSION pg_idem;
CREATE SCHEMA home;
CREATE EXTENSION pg_idem SCHEMA home;
SET search_path = public, home;
SELECT idem_scope_set('default', on_expiry => 'archive');
CREATE TABLE kept (id integer, at timestamptz);
CREATE TABLE items (id integer, at timestamptz);
CREATE INDEX ON items (at);
SELECT idem_machine_define('door', 'stateDiagram-v2
	[*] --> open
	open --> shut');
CREATE TABLE doors (id integer PRIMARY KEY, state text);
SELECT idem_machine_attach('doors', 'state', 'door', history => true);
SELECT idem_expire_attach('items', 'at', '0', action => 'archive', archive => 'kept');
SQL

# A whole visit, with a table locked that the worker would need.
sub passes_by
{
	my ($table) = @_;
	my $holder = IdemTest::Session->new($node);
	$holder->query("BEGIN; LOCK TABLE $table IN ACCESS EXCLUSIVE MODE;");
	my $position = log_since($node);
	until_logged($node, $position, qr/registering background worker "pg_idem cleanup of postgres".*exited with exit code/s);
	$holder->query('COMMIT;');
	$holder->close;
	unlike(log_since($node, $position), qr/still waiting for \w+ on (?:relation|object)/, "$table is locked: no worker waits");
	return;
}

for my $table (
	map({ "home.idem_$_" } qw(expiries scopes cleanup_paused records producers archive history)),
	'items', 'kept')
{
	# A visit learns when these expire, and the next one comes then.
	run(<<'SQL');
SET search_path = public, home;
INSERT INTO items VALUES (1, now() + interval '2 s');
SELECT FROM idem_begin('key', lease => '1 ms', retain => '2 s');
SELECT idem_cleanup_now();
SQL
	passes_by($table);
	wait_until($node, 'NOT EXISTS (SELECT FROM items) AND NOT EXISTS (SELECT FROM home.idem_records)',
		"all is gone, after $table");
}
is(run('SELECT count(*) FROM kept'), 9, 'with the lock gone all rows go');

# In the middle of a batch. A lock would not be waited for longer than a second.
run(<<'SQL');
CREATE FUNCTION hang() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	WHILE NOT pg_try_advisory_xact_lock_shared(1) LOOP PERFORM pg_sleep(0.01); END LOOP;
	RETURN OLD;
END $$;
CREATE TRIGGER hang BEFORE DELETE ON items FOR EACH ROW EXECUTE FUNCTION hang();
SQL
my $gate = IdemTest::Session->new($node);
$gate->query('SELECT pg_advisory_lock(1);');
run('INSERT INTO items VALUES (1, now()); SELECT home.idem_cleanup_now()');
wait_until($node,
	"EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'pg_idem cleanup' AND wait_event = 'PgSleep')",
	'a batch is under way');
my $position = log_since($node);
my $dropper = IdemTest::Session->new($node);
my $backend = $dropper->backend;
$dropper->query('SET client_min_messages = warning;');
$dropper->send('DROP SCHEMA home CASCADE;');
wait_until($node, "EXISTS (SELECT FROM pg_locks WHERE pid = $backend AND NOT granted)", 'DROP SCHEMA waits');
is(run("SELECT count(*) FROM pg_locks WHERE pid = $backend AND granted AND mode = 'AccessExclusiveLock'"),
	0, 'DROP SCHEMA waits for the batch before it locks anything');
$gate->query('SELECT pg_advisory_unlock(1);');
is($dropper->receive, '', 'and goes on behind it');
wait_until($node, "NOT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'pg_idem cleanup')", 'end of the worker');
unlike(log_since($node, $position), qr/(?:WARNING|ERROR|FATAL|PANIC):/, 'the log has nothing to say about it');
$_->close for $gate, $dropper;

done_testing();
