# Behind a pool that hands out a connection for one transaction only, every transaction meets another backend,
# and a backend is wiped between two of them.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;

my $node = idem_node('pool');
my @pool = map { IdemTest::Session->new($node) } 1 .. 2;
my $next = 0;

sub transaction
{
	my ($sql) = @_;
	my $session = $pool[ $next++ % @pool ];
	my $answer = $session->query("BEGIN; $sql COMMIT;");
	$session->query('DISCARD ALL;');
	return $answer;
}

for my $round (1 .. 3)
{
	my $key = "key $round";
	my ($outcome, $token) = split /\|/, transaction("SELECT outcome, token FROM idem_begin('$key');");
	is($outcome, 'started', "$key: claimed in one backend");
	is(transaction("SELECT idem_finish('$key');"), 'ERROR:  ID410', "$key: another backend has to be told the token");
	is(transaction("SELECT idem_checkpoint('$key', 'paid', token => $token) IS NULL;"), 'f', "$key: checkpoint");
	is(transaction("SELECT idem_extend('$key', token => $token) > clock_timestamp();"), 't', "$key: heartbeat");
	is(transaction("SELECT outcome FROM idem_begin('$key');"), 'in_progress', "$key: a duplicate");
	is(transaction("SELECT idem_finish('$key', '1', token => $token);"), 'finished', "$key: finished");
	is(transaction("SELECT outcome, result FROM idem_begin('$key');"), 'replayed|1', "$key: replayed in one");
	is(transaction("SELECT outcome, result FROM idem_begin('$key');"), 'replayed|1', "$key: and in the other");
	is(transaction("SELECT outcome FROM idem_execute('$key-x', 'SELECT 1');"), 'finished', "$key: executed in one");
	is(transaction("SELECT outcome FROM idem_execute('$key-x', 'SELECT 1');"), 'replayed', "$key: and replayed in the other");
}
is($pool[0]->query("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';"), '0', 'no lock of a session is left');
$_->close for @pool;

done_testing();
