# Several pgidem at once: one runs, the others are told or wait, in the order in which they came.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;
use IdemTestTool;

my $node = pgidem_node('at_once', max_connections => 60);

# The command that adds a line to a file when it begins and another when it ends, and waits for a file in between.
sub command
{
	my ($log, $gate) = @_;
	return ('sh', '-c', "echo begin >>$log; until [ -e $gate ]; do sleep 0.02; done; echo end >>$log");
}

for my $many (2, 16)
{
	my ($log, $gate) = (scratch("log.$many"), scratch("gate.$many"));
	my @all = map { start('once', 'busy', $many, '--', command($log, $gate)) } 1 .. $many;
	wait_for(sub { grep({ $_->ended } @all) == $many - 1 }, 'all but one to end');
	open_gate($gate);
	my %statuses;
	$statuses{ $_->finish }++ for @all;
	is_deeply(\%statuses, { 0 => 1, 1 => $many - 1 }, "of $many at once, one runs and all others are told");
	is(content($log), "begin\nend\n", 'the command ran once');
}

for my $many (2, 16)
{
	my ($log, $gate) = (scratch("waiting.$many"), scratch("waiting.gate.$many"));
	open_gate($gate);
	my @all = map { start('once', '--wait', '100s', '--store-output', '100', 'wait', $many, '--', command($log, $gate)) } 1 .. $many;
	is(join(' ', map { $_->finish } @all), join(' ', (0) x $many), "of $many that wait, all succeed");
	is(content($log), "begin\nend\n", 'and the command ran once');
}

# When the first one fails, the next one in line tries.
my ($log, $gate) = (scratch('baton'), scratch('baton.gate'));
my $first = start('once', 'baton', '1', '--', 'sh', '-c', "echo first >>$log; until [ -e $gate ]; do sleep 0.02; done; exit 3");
$first->wait_for_file($log, qr/first/);
my $second = start('once', '--wait', 'forever', 'baton', '1', '--', 'sh', '-c', "echo second >>$log");
wait_until($node, "EXISTS (SELECT FROM pg_stat_activity WHERE query LIKE '%idem_begin%' AND state = 'active' AND pid <> pg_backend_pid())",
	'a waiter');
open_gate($gate);
is($first->finish, 3, 'the first one fails');
is($second->finish, 0, 'the one who waits succeeds');
is(content($log), "first\nsecond\n", 'one after the other');

# Locks exclude, and are handed over in the order of the line.
($log, $gate) = (scratch('line'), scratch('line.gate'));
my @line = start('lock', 'line', '--', 'sh', '-c', "echo 0 >>$log; until [ -e $gate ]; do sleep 0.02; done");
$line[0]->wait_for_file($log, qr/0/);
for my $place (1 .. 4)
{
	push @line, start('lock', '--wait', $place % 2 ? '100s' : 'forever', 'line', '--', 'sh', '-c', "echo $place >>$log");
	wait_until($node, "(SELECT waiters FROM idem_locks WHERE name = 'line') = $place", "waiter $place");
}
is((pgidem('lock', 'line', '--', 'echo'))[0], 1, 'who does not wait is told');
is((pgidem('lock', '--wait', '200ms', 'line', '--', 'echo'))[0], 1, 'and so is who does not wait long enough');
open_gate($gate);
is(join(' ', map { $_->finish } @line), '0 0 0 0 0', 'those who wait get the lock');
is(content($log), "0\n1\n2\n3\n4\n", 'in the order in which they came');

# Sixteen at once never overlap.
my $shared = scratch('shared');
my $overlap = scratch('overlap');
my @workers = map {
	start('lock', '--wait', '100s', 'shared', '--', 'sh', '-c',
		"mkdir $shared || echo overlap >>$overlap; sleep 0.01; rmdir $shared")
} 1 .. 16;
is(join(' ', map { $_->finish } @workers), join(' ', (0) x 16), 'of sixteen that wait, all get the lock');
is(content($overlap), '', 'and no two at the same time');

# A timeout of the role does not end a wait before its time.
{
	my $gate = scratch('timeout.gate');
	my $log = scratch('timeout.log');
	my $holder = start('lock', 'timeout', '--', 'sh', '-c', "echo >$log; until [ -e $gate ]; do sleep 0.02; done");
	$holder->wait_for_file($log, qr/\n/);
	for my $setting ('statement_timeout=100ms', 'lock_timeout=100ms')
	{
		local $ENV{PGOPTIONS} = "-c $setting";
		is((pgidem('lock', '--wait', '1s', 'timeout', '--', 'echo'))[0], 1, "$setting: the wait goes on to its end");
	}
	open_gate($gate);
	is($holder->finish, 0, 'the lock was held all the time');
}

# Who is interrupted while he waits leaves nothing behind, and ends by the signal.
$node->safe_psql('postgres', q{SELECT FROM idem_lock('taken', '1 h'); SELECT FROM idem_begin('taken:1', 'pgidem', lease => '1 h')});
for my $signal ([ TERM => 15 ], [ INT => 2 ], [ HUP => 1 ], [ QUIT => 3 ])
{
	my $waiting = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgidem' AND state = 'active'";
	my @waiters = (start('lock', '--wait', 'forever', 'taken', '--', 'echo'),
		start('once', '--wait', '1000', 'taken', '1', '--', 'echo'));
	wait_until($node, "($waiting) = 2", 'two waiters');
	$_->signal($signal->[0]) for @waiters;
	is(join(' ', map { $_->finish } @waiters), join(' ', (128 + $signal->[1]) x 2), "SIG$signal->[0] ends a wait");
	wait_until($node, "($waiting) = 0", 'the end of their statements');
}

# A waiter who is killed does not get in the way of the rest.
my $killed = start('lock', '--wait', 'forever', 'taken', '--', 'echo');
wait_until($node, "(SELECT waiters FROM idem_locks WHERE name = 'taken') = 1", 'a waiter');
my $next = start('lock', '--wait', 'forever', '--ttl', '1h', 'taken', '--', 'true');
wait_until($node, "(SELECT waiters FROM idem_locks WHERE name = 'taken') = 2", 'another waiter');
$killed->signal('KILL');
$killed->finish;
SKIP:
{
	skip 'servers before 14 do not look whether their client is gone', 1
	  if $node->safe_psql('postgres', 'SHOW server_version_num') < 140000;
	wait_until($node, "(SELECT waiters FROM idem_locks WHERE name = 'taken') = 1", 'the end of the killed one');
	pass('the server notices that a waiter is gone');
}
$node->safe_psql('postgres', q{SELECT idem_unlock('taken', (SELECT token FROM idem_locks WHERE name = 'taken'))});
is($next->finish, 0, 'the next one gets the lock');

done_testing();
