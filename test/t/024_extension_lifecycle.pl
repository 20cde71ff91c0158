# The extension is dropped, created anew and moved while the worker is at it. The worker is no obstacle, stops at once,
# and finds what is there now; the log has nothing to say about it.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;
use IdemTestCleanup;

my $node = cleanup_node('lifecycle');
my $worker = q{(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'pg_idem cleanup')};

sub run { my ($sql) = @_; return $node->safe_psql('postgres', "SET statement_timeout = '@{[ IdemTest::DEADLINE ]}s'; $sql"); }

# Each row takes a while, so that there is a batch under way at any moment.
run(<<'SQL');
CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.0005); RETURN OLD; END $$;
CREATE TABLE slow (id integer, at timestamptz);
CREATE INDEX ON slow (at);
CREATE TRIGGER dawdle BEFORE DELETE ON slow FOR EACH ROW EXECUTE FUNCTION dawdle();
SQL

# Lets rows and records expire; returns when the worker has begun to take them.
sub let_expire
{
	my ($schema) = @_;
	run(<<"SQL");
SET search_path = public, $schema;
INSERT INTO slow SELECT i, now() - interval '1 day' FROM generate_series(1, 30000) AS i;
SELECT FROM generate_series(1, 30000) AS i, idem_begin('key ' || i, lease => '1 ms', retain => '1 ms');
SELECT idem_expire_attach('slow', 'at', '1 hour', 20);
SQL
	wait_until($node, "(SELECT rows > 0 FROM $schema.idem_stat_cleanup WHERE relation = 'slow'::regclass)",
		"rows go, $schema");
	return;
}

# After the statements the worker has nothing to do with what was there before.
sub stops
{
	my ($what, @statements) = @_;
	run($_) for @statements;
	my $rows = run('SELECT count(*) FROM slow');
	cmp_ok($rows, '>', 0, "$what, in the middle of the work");
	wait_until($node, "$worker = 0", 'end of the worker');
	is(run('SELECT count(*) FROM slow'), $rows, "$what: not one more row goes");
	run('TRUNCATE slow');
	return;
}

sub cleans
{
	my ($schema) = @_;
	run("INSERT INTO slow VALUES (1, now() - interval '1 day')");
	run("SET search_path = public, $schema; SELECT FROM idem_begin('one', lease => '1 ms', retain => '1 ms');
		SELECT idem_expire_attach('slow', 'at', '1 hour')");
	wait_until($node, 'NOT EXISTS (SELECT FROM slow)', "attached table, $schema");
	wait_until($node, "NOT EXISTS (SELECT FROM $schema.idem_records)", "records, $schema");
	pass("in schema $schema it is at work");
	return;
}

let_expire('public');
stops('DROP EXTENSION', 'DROP EXTENSION pg_idem');
run('CREATE EXTENSION pg_idem');
cleans('public');

let_expire('public');
stops('DROP and CREATE EXTENSION in one transaction',
	'BEGIN; DROP EXTENSION pg_idem; CREATE EXTENSION pg_idem; COMMIT');
cleans('public');

let_expire('public');
stops('created in another schema', 'CREATE SCHEMA elsewhere',
	'BEGIN; DROP EXTENSION pg_idem; CREATE EXTENSION pg_idem SCHEMA elsewhere; COMMIT');
cleans('elsewhere');

# A change of name is no change of what is to be done.
let_expire('elsewhere');
run('ALTER SCHEMA elsewhere RENAME TO anywhere');
my $rows = run(q{SELECT rows FROM anywhere.idem_stat_cleanup WHERE relation = 'slow'::regclass});
wait_until($node, "(SELECT rows > $rows FROM anywhere.idem_stat_cleanup WHERE relation = 'slow'::regclass)",
	'rows go on');
pass('the schema is renamed, and the work goes on');
my (undef, undef, $error) = $node->psql('postgres', 'ALTER EXTENSION pg_idem SET SCHEMA public');
like($error, qr/does not support SET SCHEMA/, 'the extension cannot be moved');
run('ALTER EXTENSION pg_idem UPDATE');
pass('ALTER EXTENSION UPDATE does not wait for the end of the work');

# Whoever wants to drop it and has to wait for a client is not held up by the worker, nor the worker by an error.
my $client = IdemTest::Session->new($node);
$client->query("BEGIN; SELECT FROM anywhere.idem_begin('held');");
my $dropper = IdemTest::Session->new($node);
my $backend = $dropper->backend;
$dropper->send('DROP EXTENSION pg_idem;');
wait_until($node, "(SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $backend)",
	'DROP EXTENSION waits');
wait_until($node, "$worker = 0", 'the worker is out of the way');
$rows = run('SELECT count(*) FROM slow');
run("SELECT pg_cancel_backend($backend)");
is($dropper->receive, 'ERROR:  57014', 'the drop is given up');
$client->query('COMMIT;');
wait_until($node, "(SELECT count(*) < $rows FROM slow)", 'rows go again');
pass('and the worker comes back');
stops('with its schema', 'DROP SCHEMA anywhere CASCADE');
$_->close for $client, $dropper;

run('CREATE EXTENSION pg_idem');
cleans('public');
my @lines = grep { /(?:WARNING|ERROR|FATAL|PANIC):|cleanup of/ && !/due to user request|does not support SET SCHEMA/ }
  split /\n/, slurp_file($node->logfile);
is(join("\n", @lines), '', 'the log has nothing to say about all this');

done_testing();
