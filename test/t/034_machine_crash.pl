# A backend or the whole server dies in the middle of a transition, of many with a history, or of a definition. All of
# it has happened afterwards, or nothing: the row, its history and the memory of the event agree.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;

my $node = idem_node('machine_crash', restart_after_crash => 'on');
my $rows = 1000;
my $half = $rows / 2;

# Whoever comes to the gate waits while somebody holds it.
$node->safe_psql('postgres', <<"SQL");
SELECT idem_machine_define('order', ARRAY['new'], ARRAY[['new','paid','pay'],['paid','shipped','ship']]);
CREATE TABLE orders (id int PRIMARY KEY, status text NOT NULL DEFAULT 'new');
CREATE FUNCTION gate() RETURNS void LANGUAGE sql AS 'SELECT pg_advisory_xact_lock_shared(1)';
CREATE FUNCTION guard(orders) RETURNS boolean LANGUAGE plpgsql AS
	\$\$ BEGIN IF \$1.id IN (1, $half) THEN PERFORM gate(); END IF; RETURN true; END \$\$;
CREATE FUNCTION at_gate() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN PERFORM gate(); RETURN NEW; END \$\$;
SELECT idem_machine_attach('orders', 'status', 'order', history => true, guards => '{"pay": "guard"}');
CREATE TRIGGER gate BEFORE INSERT ON idem_history FOR EACH ROW
	WHEN (NEW.to_state = 'shipped' AND NEW.key = '{"id": $half}') EXECUTE FUNCTION at_gate();
INSERT INTO orders SELECT i FROM generate_series(1, $rows) AS i;
SQL

my $state = <<'SQL';
SELECT status, count(*) FROM orders GROUP BY 1 ORDER BY 1;
SELECT to_state, event, count(*) FROM idem_history WHERE from_state IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2;
SELECT 'events', count(*) FROM idem_records;
SELECT 'version', max(version) FROM idem_machines;
SQL

sub state { return $node->safe_psql('postgres', $state); }

sub kill_backend { return kill_and_recover($node, shift->backend); }

sub stop_server
{
	$node->stop('immediate');
	return $node->start;
}

my %end = ('the backend is killed' => \&kill_backend, 'the server stops at once' => \&stop_server);

# Runs statements until they are at the gate, or done, and lets them end there.
sub break_off
{
	my ($sql, $how, $at_gate) = @_;
	my $holder = IdemTest::Session->new($node);
	my $session = IdemTest::Session->new($node);
	my $backend = $session->backend;
	$holder->query('SELECT pg_advisory_lock(1);') if $at_gate;
	$session->send($sql);
	if ($at_gate) { wait_until($node, "EXISTS (SELECT FROM pg_locks WHERE pid = $backend AND NOT granted)", 'gate'); }
	else { $session->receive; }
	$end{$how}->($session);
	$_->close for $session, $holder;
	return;
}

my $before = state();
my %in_the_middle = (
	'an event' => [ "SELECT FROM idem_fire('orders', '1', 'pay', 'evt');", 1 ],
	'an event that is not committed' => [ "BEGIN; SELECT FROM idem_fire('orders', '1', 'pay', 'evt');", 0 ],
	'many transitions' => [ "UPDATE orders SET status = 'paid';", 1 ],
	'many transitions that are not committed' => [ "BEGIN; UPDATE orders SET status = 'paid';", 0 ],
	'the writing of a history' => [ "BEGIN; SET LOCAL session_replication_role = replica; UPDATE orders SET status = 'paid';
			SET LOCAL session_replication_role = origin; UPDATE orders SET status = 'shipped';", 1 ],
	'a definition that is not committed' =>
	  [ "BEGIN; SELECT idem_machine_define('order', ARRAY['new'], ARRAY[['new','paid','pay']]);", 0 ]);
for my $how (sort keys %end)
{
	for my $what (sort keys %in_the_middle)
	{
		my ($sql, $at_gate) = @{ $in_the_middle{$what} };
		break_off($sql, $how, $at_gate);
		is(state(), $before, "$how in the middle of $what: nothing happened");
	}
}
is($node->safe_psql('postgres', "SELECT * FROM idem_fire('orders', '1', 'pay', 'evt')"), 'applied|new|paid|1',
	'the event can be repeated');
is( $node->psql('postgres', "UPDATE orders SET status = 'shipped' WHERE id = 2"),
	3, 'and transitions are judged as before');

# What is committed stays, although nothing else was written to disk.
$node->safe_psql('postgres', "UPDATE orders SET status = 'paid' WHERE id > 1");
for my $how (sort keys %end)
{
	my $from = $how =~ /backend/ ? 'paid' : 'shipped';
	my $to = $how =~ /backend/ ? 'shipped' : 'closed';
	break_off(
		"SELECT idem_machine_define('order', ARRAY['new'],
			ARRAY[['new','paid','pay'],['paid','shipped','ship'],['shipped','closed','$to'],['new','lost','$to']]);
		BEGIN; UPDATE orders SET status = '$to' WHERE id > 1; SELECT FROM idem_fire('orders', '1', '$to', '$to'); ROLLBACK;
		BEGIN; UPDATE orders SET status = '$to' WHERE id > 1; COMMIT;", $how, 0);
	is( $node->safe_psql('postgres', "SELECT status, count(*) FROM orders WHERE id > 1 GROUP BY 1"),
		"$to|" . ($rows - 1), "$how after the commit: the rows are there");
	is( $node->safe_psql('postgres', "SELECT from_state, count(*) FROM idem_history WHERE to_state = '$to' GROUP BY 1"),
		"$from|" . ($rows - 1), "$how after the commit: so is their history");
}
is($node->safe_psql('postgres', 'SELECT max(version) FROM idem_machines'), 3, 'and each definition');
is($node->safe_psql('postgres', "SELECT * FROM idem_fire('orders', '1', 'pay', 'evt')"), 'replayed|new|paid|1',
	'the event is remembered');
is( $node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT id) FROM idem_history'),
	join('|', (4 * $rows - 2) x 2), 'every number of the history was given once');

done_testing();
