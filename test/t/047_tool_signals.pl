# Signals are passed on, and the command starts as it would without pgidem: with the signals, descriptors, terminal
# and process group that it expects.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use POSIX ();
use Test::More;
use IdemTest;
use IdemTestTool;

my $node = pgidem_node('signals');

my $run_number = 0;

# once with a new run each time, or lock.
sub words
{
	my ($name) = @_;
	return $name eq 'once' ? ('once', 'signals', ++$run_number) : ('lock', 'signals');
}

my $listener = '$| = 1; for my $s (qw(TERM INT HUP QUIT USR1 USR2 CONT)) { $SIG{$s} = sub { print "got $s\n"; exit 33 if $s eq "TERM" } }'
  . 'print "ready\n"; sleep 1 while 1';

for my $name ('once', 'lock')
{
	my $run = start(words($name), '--', 'perl', '-e', $listener);
	$run->wait_for_file($run->{stdout}, qr/ready/);
	for my $signal (qw(INT HUP QUIT USR1 USR2 CONT TERM))
	{
		$run->signal($signal);
		$run->wait_for_file($run->{stdout}, qr/got $signal/);
		pass("$name: SIG$signal is passed on");
	}
	is($run->finish, 33, 'the command decides how it ends');

	# A command that does not listen ends by the signal, and is not started again.
	$run = start(words($name), '--retry', '5', '--', 'sh', '-c', 'echo ready; exec sleep 1000');
	$run->wait_for_file($run->{stdout}, qr/ready/);
	$run->signal('TERM');
	is($run->finish, 143, "$name: SIGTERM ends it");
	is($run->out, "ready\n", 'for good');

	# Between two attempts.
	$run = start(words($name), '-v', '--retry', '5', '--backoff', '1h', '--', 'false');
	$run->wait_for_file($run->{stderr}, qr/running it again/);
	$run->signal('INT');
	is($run->finish, 130, "$name: a signal ends the wait for the next attempt");

	# The whole process group of the command gets it.
	$run = start(words($name), '--', 'sh', '-c', 'sleep 1000 & echo $!; wait');
	my ($child) = $run->wait_for_file($run->{stdout}, qr/\d+\n/) =~ /(\d+)/;
	$run->signal('TERM');
	is($run->finish, 143, "$name: a shell with a child");
	process_gone($child, 'the child of the shell');

	# Stopped with the job, and continued.
	$run = start(words($name), '--', 'perl', '-e', '$| = 1; $SIG{CONT} = sub { print "on\n"; exit 5 }; print "$$\n"; sleep 1 while 1');
	my ($pid) = $run->wait_for_file($run->{stdout}, qr/\d+\n/) =~ /(\d+)/;
	$run->signal('TSTP');
	wait_for(sub { content("/proc/$_/stat") =~ /\) T/ }, "process $_ to stop") for $pid, $run->pid;
	$run->signal('CONT');
	is($run->finish, 5, "$name: stopped and continued");
}
is($node->safe_psql('postgres', q{SELECT count(*) FROM idem_records WHERE status = 'in_progress'}), '0',
	'nothing is left claimed or locked');

# Descriptors: what pgidem was given, and none of its own.
my $list = 'opendir my $d, "/proc/self/fd"; my $own = fileno $d; print join(" ", sort { $a <=> $b } grep { /\d/ && $_ != $own } readdir $d), "\n"';
for my $name ('once', 'lock')
{
	my @runs = ([ words($name) ], [ words($name), '--retry', '1' ]);
	push @runs, [ words($name), '--store-output', '1k' ] if $name eq 'once';
	for my $words (@runs)
	{
		my ($status, $out) = pgidem({ before => sub { POSIX::close($_) for 3 .. 1000 } }, @$words, '--', 'perl', '-e', $list);
		is($out, "0 1 2\n", "the command has its three descriptors: pgidem @$words");
	}
	my ($status, $out) = pgidem({
			before => sub {
				POSIX::close($_) for 3 .. 1000;
				POSIX::dup2(1, 7);
			} }, words($name), '--', 'sh', '-c', 'echo seven >&7');
	is($out, "seven\n", "$name: and what pgidem was given");
}

# Closed ones, whose numbers nothing else may take.
for my $closed ([0], [1], [2], [ 0, 1, 2 ])
{
	my $close = sub { POSIX::close($_) for @$closed };
	for my $words ([ words('lock'), '-v' ], [ words('once'), '-v', '--store-output', '1k' ])
	{
		my ($status) = pgidem({ before => $close }, @$words, '--', 'sh', '-c', 'echo out; echo err >&2; exit 9');
		is($status, 9, "without descriptor @$closed: pgidem @$words");
	}
}

# A signal that comes just when the command is started is not lost.
for my $round (1 .. 20)
{
	my $run = start('lock', "just $round", '--', 'sleep', '1000');
	wait_until($node, "EXISTS (SELECT FROM idem_locks WHERE name = 'just $round')", 'the lock');
	$run->signal('TERM');
	is($run->finish, 143, 'a signal at the start of the command');
}

# Signals that were ignored stay ignored, and none is blocked.
my $state = q{grep -E '^Sig(Blk|Ign|Cgt):' /proc/self/status};
for my $name ('once', 'lock')
{
	my $plain = sub { $SIG{$_} = 'DEFAULT' for qw(HUP INT PIPE QUIT) };
	my $expected = (pgidem({ program => '/bin/sh', before => $plain }, '-c', $state))[1];
	is((pgidem({ before => $plain }, words($name), '--', 'sh', '-c', $state))[1], $expected, "$name: signals as they were");
	my $nohup = sub { $plain->(); $SIG{HUP} = 'IGNORE' };
	$expected = (pgidem({ program => '/bin/sh', before => $nohup }, '-c', $state))[1];
	is((pgidem({ before => $nohup }, words($name), '--', 'sh', '-c', $state))[1], $expected, 'also behind nohup');
	my $run = start({ before => $nohup }, words($name), '--', 'sh', '-c', 'echo ready; exec sleep 1000');
	$run->wait_for_file($run->{stdout}, qr/ready/);
	$run->signal('HUP');
	$run->signal('TERM');
	is($run->finish, 143, 'where SIGHUP does nothing');
}

# A reader of the output who goes away is noticed by the command, not by pgidem.
my $status = system 'sh', '-c', "$IdemTestTool::PROGRAM once --store-output 1k pipe 1 -- sh -c 'while echo y; do :; done 2>/dev/null; exit 44' | head -n 1 >/dev/null";
is($status, 0, 'a pipe that is closed ends the command');
is($node->safe_psql('postgres', q{SELECT status FROM idem_get('pipe:1', 'pgidem')}), 'released', 'which has failed');

# A reader who does not read holds up the command, and not the renewals.
pipe my $reading, my $writing or die;
my $run = start({ before => sub { POSIX::dup2(fileno $writing, 1) } }, 'once', '--lease', '3s', '--store-output', '10', 'slow', '1', '--',
	'perl', '-e', 'print "x" x 1000000');
close $writing;
my $lease = q{SELECT lease_expires_at FROM idem_get('slow:1', 'pgidem')};
wait_until($node, "($lease) IS NOT NULL", 'the claim');
my $end = $node->safe_psql('postgres', $lease);
wait_until($node, "($lease) > '$end'::timestamptz + interval '3 s'", 'renewals beyond the first lease');
my $read = 0;
while (sysread $reading, my $bytes, 65536) { $read += length $bytes }
is($read, 1000000, 'all output arrives in the end');
is($run->finish, 0, 'and the lease was kept all the time');

# On a terminal.
SKIP:
{
	skip 'there is no script(1)', 3 unless -x '/usr/bin/script';
	my $type = scratch('typescript');
	my $commands = "$IdemTestTool::PROGRAM lock tty -- sh -c 'ps -o pgid=,tpgid= -p \$\$ | tr -s \" \"; [ -t 0 ] && echo terminal'; echo status \$?; "
	  . 'ps -o pgid=,tpgid= -p $$ | tr -s " "';
	local $ENV{COMMANDS} = $commands;
	system 'sh', '-c', "script -qec 'sh -c \"\$COMMANDS\"' $type </dev/null >/dev/null 2>&1";
	my $said = content($type);
	like($said, qr/^ *(\d+) \1\r?\nterminal/m, 'the command has the foreground of the terminal');
	like($said, qr/status 0/, 'and ends');
	like($said, qr/status 0\r?\n *(\d+) \1\r?\n/, 'and the shell has it back');
}

done_testing();
