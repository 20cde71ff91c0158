# What sessions know of attached tables is thrown away again and again, in the middle of whatever they do, as other
# sessions alter those tables, define machines and attach them.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;

my $node = idem_node('machine_invalidation', max_connections => 20, autovacuum => 'off', fsync => 'off');
my $calls = 3000;

$node->safe_psql('postgres', <<'SQL');
SELECT idem_machine_define('m', ARRAY['a'], ARRAY[['a','b','go'],['b','a','go']]);
CREATE TABLE t (id int PRIMARY KEY, status text NOT NULL DEFAULT 'a');
CREATE TABLE p (id int, status text NOT NULL DEFAULT 'a', PRIMARY KEY (id, status)) PARTITION BY LIST (status);
CREATE TABLE p_a PARTITION OF p FOR VALUES IN ('a');
CREATE TABLE p_on PARTITION OF p DEFAULT;
CREATE FUNCTION may_go(t) RETURNS boolean LANGUAGE sql AS 'SELECT true';
SELECT idem_machine_attach('t', 'status', 'm', history => true, guards => '{"go": "may_go"}');
SELECT idem_machine_attach('p', 'status', 'm', history => true);
INSERT INTO t VALUES (1), (2);
INSERT INTO p VALUES (1), (2);
SQL

# Each of these is done many times, in a transaction of its own.
my %work = (
	events => q{PERFORM idem_fire('t', '1', 'go');},
	'events with ids' => q{PERFORM idem_fire('t', '2', 'go', 'e' || i);},
	'events of rows that move' => q{PERFORM idem_fire('p', '1', 'go');},
	statements => q{UPDATE p SET status = CASE status WHEN 'a' THEN 'b' ELSE 'a' END WHERE id = 2;},
	questions => q{PERFORM idem_allowed_events('t', '1'), idem_history_of('t', '3'), idem_machine_validate('p')
		FROM idem_machine_attachments WHERE false; PERFORM count(*) FROM idem_machine_attachments;
		PERFORM idem_allowed_events('t', '1'); PERFORM idem_machine_validate('t');});
# What others do meanwhile, each in a session of its own, again and again.
my %trouble = (
	'settings of tables' => q{ALTER TABLE t SET (parallel_workers = 1); COMMIT; ALTER TABLE idem_machines SET (parallel_workers = 1);},
	'settings of tables, the other way round' => q{ALTER TABLE idem_machines RESET (parallel_workers); COMMIT; ALTER TABLE t RESET (parallel_workers);},
	statistics => q{ANALYZE p; ANALYZE idem_machines;},
	definitions => q{PERFORM idem_machine_define('m', ARRAY['a'], ARRAY[['a','b','go'],['b','a','go'],['a','c','x' || i]]);},
	'other tables' => q{CREATE TABLE other (id int PRIMARY KEY); ALTER TABLE other ADD c text; DROP TABLE other;});

sub session_doing
{
	my ($loop, $work) = @_;
	my $session = IdemTest::Session->new($node);
	$session->backend;
	$session->send("DO \$\$ DECLARE i bigint := 0; BEGIN WHILE $loop LOOP i := i + 1; $work COMMIT; END LOOP; END \$\$;");
	return $session;
}

$node->safe_psql('postgres', 'CREATE TABLE done (is_done boolean)');
my %troublers = map { $_ => session_doing('NOT EXISTS (SELECT FROM done)', $trouble{$_}) } sort keys %trouble;
my %workers = map { $_ => session_doing("i < $calls", $work{$_}) } sort keys %work;
is($workers{$_}->receive, '', "$_ went on") for sort keys %workers;
$node->safe_psql('postgres', 'INSERT INTO done VALUES (true)');
is($troublers{$_}->receive, '', "$_ as well") for sort keys %troublers;
$_->close for values %workers, values %troublers;

is($node->safe_psql('postgres', 'SELECT status FROM t ORDER BY id'), "a\na", 'each event happened');
is($node->safe_psql('postgres', 'SELECT status FROM p ORDER BY id'), "a\na", 'and each statement');
is( $node->safe_psql('postgres', 'SELECT attachment, count(*) FROM idem_history WHERE from_state IS NOT NULL GROUP BY 1 ORDER BY 1'),
	join("\n", map { "public.$_.status|" . 2 * $calls } 'p', 't'), 'all of them are in the history');

done_testing();
