# A prepared transaction holds its claim without a session, also across a crash of the server.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;

my $node = idem_node('prepared', max_prepared_transactions => 10);
my $answer = 'SELECT outcome, attempt, result FROM idem_begin';

sub prepare
{
	my ($key) = @_;
	return $node->safe_psql('postgres',
		"BEGIN; $answer('$key'); SELECT idem_finish('$key', '\"of $key\"'); PREPARE TRANSACTION '$key';");
}

is(prepare('kept'), "started|1|\nfinished", 'a claim is prepared');
prepare('dropped');
$node->stop('immediate');
$node->start;

my $session = IdemTest::Session->new($node);
for my $key ('kept', 'dropped')
{
	is($session->query("$answer('$key', wait => '0');"), 'in_progress||', "$key: wait 0 answers after the restart");
	is($session->query("$answer('$key', wait => '10 ms');"), 'in_progress||', "$key: a bounded wait ends");
	is($session->query("SET lock_timeout = '10 ms'; $answer('$key'); RESET lock_timeout;"), 'ERROR:  55P03',
		"$key: lock_timeout ends a wait without bounds");
}

sub decide_while_waiting
{
	my ($key, $decision) = @_;
	$session->send("$answer('$key');");
	my $backend = $session->{backend};
	$node->poll_query_until('postgres',
		"SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $backend")
	  or die 'the duplicate does not wait';
	$node->safe_psql('postgres', "$decision PREPARED '$key'");
	return $session->receive;
}

$session->backend;
is(decide_while_waiting('kept', 'COMMIT'), 'replayed|1|"of kept"', 'committed: who waited gets the result');
is(decide_while_waiting('dropped', 'ROLLBACK'), 'started|1|', 'rolled back: who waited gets the key');
$session->close;

done_testing();
