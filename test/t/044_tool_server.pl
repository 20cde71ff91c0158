# The server goes away while a command runs, and comes back in time, or does not.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes 'time';
use IdemTest;
use IdemTestTool;

my $node = pgidem_node('server');

sub command
{
	my ($log, $gate) = @_;
	return ('sh', '-c', "trap 'echo told >>$log; exit 0' TERM; echo \$\$ >>$log; until [ -e $gate ]; do sleep 0.05; done");
}

# A crash and a restart in the middle: renewals go on, and the end is recorded.
my @runs;
for my $name ([ 'once', '--lease', '60s', 'crash', '1' ], [ 'lock', '--ttl', '60s', 'crash' ])
{
	my ($log, $gate) = (scratch("crash.$name->[0]"), scratch("crash.$name->[0].gate"));
	my $run = start(@$name, '-v', '--', command($log, $gate));
	$run->wait_for_file($log, qr/\d+\n/);
	push @runs, [ $run, $gate, $log, $name->[0] ];
}
$node->stop('immediate');
$node->start;
for my $run (@runs)
{
	open_gate($run->[1]);
	is($run->[0]->finish, 0, "$run->[3]: the server crashed and is back");
	unlike(content($run->[2]), qr/told/, 'the command did not notice');
}
is($node->safe_psql('postgres', q{SELECT status FROM idem_get('crash:1', 'pgidem')}), 'finished', 'the end is recorded');
is($node->safe_psql('postgres', q{SELECT count(*) FROM idem_locks}), '0', 'and the lock released');

# The end comes while the server is away: it is told when the server is back.
my ($log, $gate) = (scratch('late'), scratch('late.gate'));
my $run = start('once', '--lease', '100s', 'late', '1', '--', command($log, $gate));
$run->wait_for_file($log, qr/\d+\n/);
$node->stop('immediate');
open_gate($gate);
$run->wait_for_file($run->{stderr}, qr/cannot tell the server yet/);
$node->start;
is($run->finish, 0, 'the server comes back after the command has ended');
is($node->safe_psql('postgres', q{SELECT status FROM idem_get('late:1', 'pgidem')}), 'finished', 'the end is recorded');

# Whoever does not want to wait for that is told what it means.
($log, $gate) = (scratch('never'), scratch('never.gate'));
my @names = ([ 'once', '--lease', '100s', 'never', '1' ], [ 'lock', '--ttl', '100s', 'never' ]);
@runs = map { my $name = $_; [ start(@$name, '--', command("$log.$name->[0]", $gate)), $name->[0] ] } @names;
$_->[0]->wait_for_file("$log.$_->[1]", qr/\d+\n/) for @runs;
$node->stop('immediate');
open_gate($gate);
$_->[0]->wait_for_file($_->[0]{stderr}, qr/cannot tell the server yet/) for @runs;
$_->[0]->signal('TERM') for @runs;
is($runs[0][0]->finish, 74, 'once: done, and not recorded');
like($runs[0][0]->err, qr/the end of "never:1" could not be recorded/, 'which is said');
is($runs[1][0]->finish, 0, 'lock: the command succeeded');
like($runs[1][0]->err, qr/lock "never" stays shut until its time is over/, 'and the lock is said to stay shut');
$node->start;

# The server stays away: the command is told, and dead before the lease is over.
for my $name ([ 'once', '--lease', '6s', 'away', '1' ], [ 'lock', '--ttl', '6s', 'away' ])
{
	my ($log, $pids) = (scratch("away.$name->[0]"), scratch("pids.$name->[0]"));
	my $run = start(@$name, '--kill-after', '500ms', '--',
		'perl', '-e', 'open my $f, ">>", $ARGV[0]; $SIG{TERM} = sub { syswrite $f, "told\n" }; syswrite $f, "$$\n"; sleep 1 while 1', $log);
	my ($pid) = $run->wait_for_file($log, qr/\d+\n/) =~ /(\d+)/;
	$node->stop('immediate');
	process_gone($pid, 'the command');
	my $after = time;
	is($run->finish, 75, "$name->[0]: the lease is lost");
	like(content($log), qr/told/, 'the command was told');
	like($run->err, qr/cannot renew the lease, which ends in .*: .*/, 'the reason was said');
	like($run->err, qr/was lost, and the command stopped/, 'and the end');
	$node->start;
	my $expires = $name->[0] eq 'once' ? q{SELECT lease_expires_at FROM idem_get('away:1', 'pgidem')}
	  : q{SELECT lease_expires_at FROM idem_get('away', 'idem.lock')};
	my $end = $node->safe_psql('postgres', "SELECT extract(epoch FROM ($expires))");
	cmp_ok($after, '<', $end, 'before the lease was over by the clock of the server');
}

# A session that an administrator ends is made again.
($log, $gate) = (scratch('session'), scratch('session.gate'));
$run = start('once', '--lease', '3s', 'session', '1', '--', command($log, $gate));
$run->wait_for_file($log, qr/\d+\n/);
my $sessions = "SELECT pid FROM pg_stat_activity WHERE application_name = 'pgidem'";
for my $round (1 .. 3)
{
	my $lease = q{SELECT lease_expires_at FROM idem_get('session:1', 'pgidem')};
	my $end = $node->safe_psql('postgres', $lease);
	$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM ($sessions) s");
	wait_until($node, "($lease) > '$end'", 'a renewal');
}
open_gate($gate);
is($run->finish, 0, 'sessions that are ended do not harm');

# So is that of a waiter, who asks again.
$node->safe_psql('postgres', q{SELECT FROM idem_lock('held', '1 h')});
my $waiter = start('lock', '--wait', '100s', 'held', '--', 'echo', 'got it');
wait_until($node, q{(SELECT waiters FROM idem_locks WHERE name = 'held') = 1}, 'a waiter');
$node->stop('immediate');
$node->start;
wait_until($node, q{(SELECT waiters FROM idem_locks WHERE name = 'held') = 1}, 'the waiter again');
$node->safe_psql('postgres', q{SELECT idem_unlock('held', (SELECT token FROM idem_locks WHERE name = 'held'))});
is($waiter->finish, 0, 'a waiter outlives a crash of the server');
is($waiter->out, "got it\n", 'and gets the lock');

done_testing();
