# The memory of a session is bounded: by the rows of one statement, with a history or moving to another partition, by
# the statements of one transaction, also by those that are refused, and by how often machines are defined and attached.
#
# IDEM_MEMORY_CALLS=1000000 dev/test tap 037    goes through ten times as many definitions; without it, 100000.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;

plan skip_all => 'the memory of a process is read from /proc' unless -r "/proc/$$/status";

my $calls = $ENV{IDEM_MEMORY_CALLS} // 100_000;
my $cycles = $calls / 50;
my $rows = 300_000;

my $node = idem_node('machine_memory', autovacuum => 'off', fsync => 'off', synchronous_commit => 'off', work_mem => '1MB',
	log_statement => 'none');
my $session = IdemTest::Session->new($node);

# The statement's memory is at its largest when all rows have been judged and the history is not written yet, which is
# where a trigger with this name fires.
$session->query(<<"SQL");
CREATE FUNCTION memory() RETURNS int LANGUAGE sql AS
	\$\$ SELECT substring(pg_read_file('/proc/self/status', 0, 10000) FROM 'RssAnon:\\s*(\\d+) kB')::int \$\$;
CREATE TABLE peak (kb int);
INSERT INTO peak VALUES (0);
CREATE FUNCTION note_memory() RETURNS void LANGUAGE sql AS 'UPDATE peak SET kb = greatest(kb, memory())';
CREATE FUNCTION measure() RETURNS trigger LANGUAGE plpgsql AS
	\$\$ BEGIN PERFORM note_memory(); RETURN NULL; END \$\$;
SELECT FROM idem_machine_define('m', ARRAY['a'], ARRAY[['a','b','go'],['b','c','go'],['c','a','go']]);
CREATE TABLE many (id int PRIMARY KEY, status text NOT NULL DEFAULT 'a');
CREATE TABLE moving (id int, status text NOT NULL DEFAULT 'a', PRIMARY KEY (id, status)) PARTITION BY LIST (status);
CREATE TABLE moving_a PARTITION OF moving FOR VALUES IN ('a');
CREATE TABLE moving_on PARTITION OF moving DEFAULT;
CREATE TABLE few (id int PRIMARY KEY, status text NOT NULL DEFAULT 'a');
SELECT FROM idem_machine_attach('many', 'status', 'm', history => true);
SELECT FROM idem_machine_attach('moving', 'status', 'm', history => true);
SELECT FROM idem_machine_attach('few', 'status', 'm', history => true);
CREATE TRIGGER "A" AFTER INSERT OR UPDATE ON many EXECUTE FUNCTION measure();
CREATE TRIGGER "A" AFTER INSERT OR UPDATE ON moving EXECUTE FUNCTION measure();
SET session_replication_role = replica;
INSERT INTO many SELECT i FROM generate_series(1, $rows) AS i;
INSERT INTO moving SELECT i FROM generate_series(1, $rows) AS i;
RESET session_replication_role;
INSERT INTO few SELECT i FROM generate_series(1, 1000) AS i;
SQL

sub private_memory { return $session->query('SELECT memory();'); }

# What one session has given back, the next use of memory would hide.
sub fresh_session
{
	$session->close;
	$session = IdemTest::Session->new($node);
	return;
}

# What statements add to the session's memory; with the peak within them if the triggers say it.
sub growth_ok
{
	my ($sql, $allowed, $what) = @_;
	$session->query('UPDATE peak SET kb = 0;');
	my $before = private_memory();
	is($session->query($sql), '', $what);
	my $after = $session->query('SELECT greatest(kb, memory()) FROM peak;');
	cmp_ok($after - $before, '<=', $allowed, "$what: the session grew by @{[ $after - $before ]} kB, at most $allowed kB");
	return;
}

# The server itself remembers which triggers are to fire for each row.
my $per_rows = $rows * 100 / 1024;
growth_ok(q{UPDATE many SET status = 'b';}, $per_rows, "$rows transitions");
fresh_session();
growth_ok(q{UPDATE many SET status = 'c';}, $per_rows, "$rows transitions once more");
fresh_session();
growth_ok(q{UPDATE moving SET status = 'b';}, $per_rows, "$rows rows that move to another partition");
is( $session->query(q{SELECT attachment, count(*) FROM idem_history WHERE from_state IS NOT NULL GROUP BY 1 ORDER BY 1;}),
	'public.many.status|' . 2 * $rows . "\npublic.moving.status|$rows", 'all of them are in the history');

my $further = q{CASE status WHEN 'a' THEN 'b' WHEN 'b' THEN 'c' ELSE 'a' END};
my $next = "UPDATE few SET status = $further WHERE id = 1";

# What one transaction does, and its memory before it ends.
sub in_one_transaction
{
	my ($times, $work, $what) = @_;
	fresh_session();
	my $sql = "DO \$\$ BEGIN FOR i IN 1 .. %d LOOP $work END LOOP; PERFORM note_memory(); END \$\$;";
	$session->query(sprintf $sql, 10);
	return growth_ok((sprintf $sql, $times), 4096, "$times $what in one transaction");
}

in_one_transaction(10000, "$next;", 'statements');
in_one_transaction(5000, "PERFORM idem_fire('few', '2', 'go');", 'events');
in_one_transaction(2000, "PERFORM idem_fire('few', '2', 'go', txid_current() || '.' || i);", 'events with ids');
in_one_transaction(5000, "BEGIN $next; RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN NULL; END;", 'undone statements');
in_one_transaction(
	100,
	"BEGIN UPDATE few SET status = CASE id WHEN 1000 THEN 'bad' ELSE $further END; EXCEPTION WHEN SQLSTATE 'ID004' THEN NULL; END;",
	'refused statements of many rows');

# Definitions and attachments, which the session itself makes, or another one. What they leave dead in the catalogs is
# removed after each slice: every cycle would take longer than the one before.
my $define = q{PERFORM idem_machine_define('m', ARRAY['a'], ARRAY[['a','b','go'],['b','c','go'],['c','a','go'],['a','c','e' || i]])};
my $attach = q{PERFORM idem_machine_attach('few', 'status', 'm', history => mod(i, 2) = 0)};
my $slice = "DO \$\$ BEGIN FOR i IN %d .. %d LOOP $define; $attach; $next; COMMIT; END LOOP; END \$\$;";
my $at_once = 100;

sub define_and_attach
{
	my ($first, $last) = @_;
	for (my $i = $first; $i <= $last; $i += $at_once)
	{
		is($session->query(sprintf $slice, $i, $i + $at_once - 1), '', "definitions and attachments from number $i on");
		$node->safe_psql('postgres', 'VACUUM');
	}
	return;
}

fresh_session();
define_and_attach(1, $at_once);
my $settled = private_memory();
define_and_attach($at_once + 1, $at_once + $cycles);
my $added = private_memory() - $settled;
cmp_ok($added, '<=', 1024, "$cycles definitions and attachments: the session grew by $added kB");

my $definer = IdemTest::Session->new($node);
my $others = $cycles / 10;
fresh_session();
my $answers = '';
for my $round (1 .. $others + 100)
{
	$session->query('UPDATE peak SET kb = memory();') if $round == 100;
	$answers .= $definer->query("DO \$\$ DECLARE i int := $round; BEGIN $define; $attach; END \$\$;");
	$answers .= $session->query("$next;");
}
is($answers, '', "$others definitions by another session");
my $growth = $session->query('SELECT memory() - kb FROM peak;');
cmp_ok($growth, '<=', 256, "$others definitions by another session: the session grew by $growth kB");
$_->close for $session, $definer;

done_testing();
