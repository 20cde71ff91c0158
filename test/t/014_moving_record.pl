# A session that looks for a record finds it also while another one moves it: the old version and the new one are two
# entries of the index, and the move may be committed between the look at the one and the look at the other.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;

# Without preload, a new session knows no record's place and goes through the index.
my $node = idem_node('moving', autovacuum => 'off');
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION idem_test_hold_page(relation regclass, block int, until xid) RETURNS void
	AS 'pg_idem_test' LANGUAGE C STRICT;
CREATE FUNCTION page(record text) RETURNS int LANGUAGE sql AS $$
	SELECT (ctid::text::point)[0]::int FROM idem_records WHERE key = record
$$;
-- No page keeps room for the next versions of its rows.
ALTER TABLE idem_records SET (fillfactor = 100);
CREATE PROCEDURE fill_pages() LANGUAGE sql AS $$
	INSERT INTO idem_records (scope, key, status, token, attempt, created_at, lease_expires_at, expires_at, body)
		SELECT 'filler', gen_random_uuid()::text, 'finished', 1, 1, now(), now(), 'infinity', decode(repeat('00', 600), 'hex')
		FROM generate_series(1, 30)
$$;
SQL

# Leaves the record's page full, and the first page of the table empty.
sub lay_out
{
	$node->safe_psql('postgres', <<'SQL');
TRUNCATE idem_records;
CALL fill_pages();
SELECT idem_begin('moving', lease => '1 h');
CALL fill_pages();
DELETE FROM idem_records WHERE (ctid::text::point)[0] = 0;
VACUUM idem_records;
SQL
	return;
}

sub wait_until
{
	my ($session, $event) = @_;
	my $waits = "SELECT wait_event = '$event' FROM pg_stat_activity WHERE pid = " . $session->backend;
	wait_for(sub { $node->safe_psql('postgres', $waits) eq 't' }, "a session comes to wait for $event");
	return;
}

# Moves the record in a transaction, which it returns, and leaves it open.
sub start_move
{
	my ($mover) = @_;
	my $token = $node->safe_psql('postgres', "SELECT token FROM idem_records WHERE key = 'moving'");
	$mover->query("BEGIN; SELECT idem_finish('moving', to_jsonb(repeat('x', 1500)), token => $token);");
	return $mover->query('SELECT pg_current_xact_id();');
}

# What a call answers that meets the new version before the move is committed, and the old one after. It is held up in
# between by another session that has the old version's page.
sub answer_during_move
{
	my ($level, $call) = @_;
	lay_out();
	my ($mover, $holder, $caller) = map { IdemTest::Session->new($node) } 1 .. 3;
	my $old = $mover->query("SELECT page('moving');");
	my $move = start_move($mover);
	my $new = $mover->query("SELECT page('moving');");
	# The index leads to equal keys in the order of their rows' places.
	die "the record moved from page $old to page $new, not to one before it" unless $new < $old;

	$caller->backend;
	$caller->query("BEGIN ISOLATION LEVEL $level; SELECT;");
	$holder->backend;
	$holder->send("SELECT idem_test_hold_page('idem_records', $old, '$move');");
	wait_until($holder, 'Extension');
	$caller->send("$call;");
	wait_until($caller, 'BufferContent');
	$mover->query('COMMIT;');
	$holder->receive;
	my $answer = $caller->receive;
	$_->close for $mover, $holder, $caller;
	return $answer;
}

my @calls = (
	[ "SELECT outcome FROM idem_begin('moving', wait => '0')", 'replayed' ],
	[ "SELECT outcome FROM idem_begin('moving')", 'replayed' ],
	[ "SELECT idem_finish('moving')", 'ERROR:  ID410' ],
	[ "SELECT idem_fail('moving')", 'ERROR:  ID410' ],
	[ "SELECT idem_release('moving')", 'ERROR:  ID410' ],
	[ "SELECT idem_extend('moving')", 'ERROR:  ID410' ],
	[ "SELECT idem_checkpoint('moving', 'step')", 'ERROR:  ID410' ],
	[ "SELECT idem_resolve('moving', 'retry')", 'ERROR:  ID412' ],
	[ "SELECT idem_forget('moving')", 't' ]);
for my $case (@calls)
{
	my ($call, $expected) = @$case;
	is(answer_during_move('READ COMMITTED', $call), $expected, "READ COMMITTED: $call");
	is(answer_during_move('REPEATABLE READ', $call), 'ERROR:  40001', "REPEATABLE READ: $call");
}

done_testing();
