# The network between pgidem and the server is cut without a word: nobody closes a connection, nothing arrives.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes 'time';
use IdemTest;
use IdemTestProxy;
use IdemTestTool;

my $node = pgidem_node('network');

my $command = 'open my $f, ">>", $ARGV[0]; $SIG{TERM} = sub { syswrite $f, "told\n" }; syswrite $f, "$$\n"; '
  . 'select undef, undef, undef, 0.05 until -e $ARGV[1]';

for my $name ([ 'once', '--lease', '8s', 'cut', '1' ], [ 'lock', '--ttl', '8s', 'cut' ])
{
	my $proxy = IdemTestProxy->new($node);
	my ($log, $gate) = (scratch("cut.$name->[0]"), scratch("gate.$name->[0]"));
	local @ENV{qw(PGHOST PGPORT)} = ('127.0.0.1', $proxy->port);
	my $run = start(@$name, '--kill-after', '1s', '--', 'perl', '-e', $command, $log, $gate);
	my ($pid) = $run->wait_for_file($log, qr/\d+\n/) =~ /(\d+)/;

	# A short cut: renewals are made up for.
	my $record = $name->[0] eq 'once' ? q{idem_get('cut:1', 'pgidem')} : q{idem_get('cut', 'idem.lock')};
	my $lease = "SELECT lease_expires_at FROM $record";
	my $end = $node->safe_psql('postgres', $lease);
	wait_until($node, "($lease) > '$end'", 'a renewal');
	$proxy->cut;
	$run->wait_for_file($run->{stderr}, qr/cannot renew the lease/);
	$proxy->mend;
	$end = $node->safe_psql('postgres', $lease);
	wait_until($node, "($lease) > '$end'", 'a renewal after the cut');
	ok(alive($pid), "$name->[0]: a short cut does no harm");

	# A long one: the command is dead before anybody else can have the lease.
	$proxy->cut;
	process_gone($pid, 'the command');
	my $gone = time;
	$end = $node->safe_psql('postgres', "SELECT extract(epoch FROM ($lease))");
	cmp_ok($gone, '<', $end, "$name->[0]: in a long cut the command ends before the lease");
	like(content($log), qr/told/, 'it was told before');
	{
		local @ENV{qw(PGHOST PGPORT)} = ($node->host, $node->port);
		is((pgidem(@$name, '--wait', '60s', '--', 'true'))[0], 0, 'the next one starts after that');
	}
	is($run->finish, 75, 'pgidem does not hang, and says that the lease is lost');
	$proxy->mend;
}

# A line that is cut before the first answer.
my $proxy = IdemTestProxy->new($node);
local @ENV{qw(PGHOST PGPORT PGCONNECT_TIMEOUT)} = ('127.0.0.1', $proxy->port, 2);
$proxy->cut;
is_deeply([ (pgidem('lock', 'early', '--', 'echo'))[ 0, 1 ] ], [ 69, '' ], 'no answer to the first call: unavailable');
$proxy->mend;
is((pgidem('lock', 'early', '--', 'true'))[0], 0, 'the line is back');

# A waiter whose line is cut asks again when it is back, and does not lose what he was granted meanwhile to himself.
$node->safe_psql('postgres', q{SELECT FROM idem_lock('wait', '1 h')});
my $waiter = start('lock', '-v', '--wait', '10s', '-d', 'keepalives_idle=1 keepalives_interval=1 tcp_user_timeout=2000', 'wait', '--', 'echo', 'got it');
wait_until($node, q{(SELECT waiters FROM idem_locks WHERE name = 'wait') = 1}, 'a waiter');
kill 'KILL', $proxy->{pid};
waitpid delete $proxy->{pid}, 0;
$waiter->wait_for_file($waiter->{stderr}, qr/trying again/);
$node->safe_psql('postgres', q{SELECT idem_unlock('wait', (SELECT token FROM idem_locks WHERE name = 'wait'))});
isnt($waiter->finish, 0, 'no line, no lock');
is($waiter->out, '', 'and no command');

done_testing();
