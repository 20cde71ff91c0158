# Killed at any moment: pgidem, its guardian, the command, or stopped for too long. Never are two commands alive beyond
# the lease, and nothing stays shut beyond it.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;
use IdemTestTool;

my $node = pgidem_node('killed');

# A command that writes down its process number and that of a child that went into a session of its own, and that
# ignores what is sent to it to end it.
my $number = 0;
sub stubborn
{
	my $pids = scratch('pids.' . ++$number);
	my $setsid = 'use POSIX; $SIG{TERM} = $SIG{HUP} = $SIG{INT} = "IGNORE"; open my $f, ">>", $ARGV[0];'
	  . 'syswrite $f, "$$\n"; if (!fork) { POSIX::setsid(); syswrite $f, "$$\n" } close $f; sleep 1000';
	return ($pids, 'perl', '-e', $setsid, $pids);
}

# Starts it: the process, and those of the command.
sub started
{
	my @options = @_;
	my ($pids, @command) = stubborn();
	my $run = start(@options, '--', @command);
	my @pids = split /\n/, $run->wait_for_file($pids, qr/\A\d+\n\d+\n\z/);
	return ($run, @pids);
}

sub guardian_of
{
	my ($pid) = @_;
	my ($child) = content("/proc/$pid/stat") =~ /\) [A-Z] (\d+)/;
	return $child;
}

plan(skip_all => 'this system has no /proc') unless -e "/proc/$$/stat";

for my $name ([ 'once', 'killed', '1' ], [ 'lock', 'killed' ])
{
	my @options = ($name->[0], ($name->[0] eq 'once' ? '--lease' : '--ttl'), '6s', '--kill-after', '1s', @$name[ 1 .. $#$name ]);

	# pgidem: the guardian ends what is left, and the next caller starts when the lease is over.
	my ($run, @pids) = started(@options);
	my $guardian = guardian_of($pids[0]) == $$ ? 0 : guardian_of($pids[0]);
	isnt($guardian, $run->pid, "$name->[0]: a guardian stands between pgidem and the command");
	$run->signal('KILL');
	is($run->finish, 137, 'pgidem is killed');
	is((pgidem(@options, '--', 'true'))[0], 1, 'its lease goes on');
	process_gone($_, 'the command') for @pids, $guardian;
	is((pgidem(@options, '--', 'true'))[0], 1, 'the command is gone before the lease is over');
	is((pgidem(@options, '--wait', '60', '--', 'true'))[0], 0, 'and the next one starts when it is');
	pgidem('forget', 'killed:1');

	# The command: that is an end like any other.
	($run, @pids) = started(@options);
	kill 'KILL', $pids[0];
	is($run->finish, 137, "$name->[0]: the command is killed");
	is((pgidem(@options, '--', 'true'))[0], 0, 'and the next one starts at once');
	kill 'KILL', $pids[1];
	pgidem('forget', 'killed:1');

	# The guardian: pgidem does its work, and even finds who has gone into another session.
	($run, @pids) = started(@options);
	kill 'KILL', guardian_of($pids[0]);
	is($run->finish, 137, "$name->[0]: the guardian is killed");
	is(join(' ', map { alive($_) ? 'alive' : 'gone' } @pids), 'gone gone', 'the command is gone before pgidem is');
	is((pgidem(@options, '--', 'true'))[0], 0, 'and the next one starts at once');
	pgidem('forget', 'killed:1');

	# pgidem stands still, and cannot renew: the guardian ends the command before the lease ends.
	($run, @pids) = started(@options);
	$run->signal('STOP');
	process_gone($_, 'the command') for @pids;
	is((pgidem(@options, '--', 'true'))[0], 1, "$name->[0]: pgidem is stopped, and the command gone before the lease is over");
	is((pgidem(@options, '--wait', '60', '--', 'true'))[0], 0, 'the next one starts');
	$run->signal('CONT');
	is($run->finish, 75, 'pgidem says so when it goes on');
	pgidem('forget', 'killed:1');

	# Both the command and pgidem stand still.
	($run, @pids) = started(@options);
	kill 'STOP', $pids[0];
	$run->signal('STOP');
	process_gone($_, 'the command') for @pids;
	is((pgidem(@options, '--wait', '60', '--', 'true'))[0], 0, "$name->[0]: a stopped command is ended as well");
	$run->signal('KILL');
	$run->finish;
	pgidem('forget', 'killed:1');

	# The command stands still alone: it has its claim for as long as it likes.
	($run, @pids) = started(@options);
	kill 'STOP', $pids[0];
	my $lease = "SELECT max(lease_expires_at) FROM idem_records WHERE status = 'in_progress'";
	my $ends = $node->safe_psql('postgres', $lease);
	wait_until($node, "($lease) > '$ends'", 'a renewal');
	is((pgidem(@options, '--', 'true'))[0], 1, "$name->[0]: a stopped command keeps its claim");
	kill 'KILL', @pids;
	is($run->finish, 137, 'until it ends');
	pgidem('forget', 'killed:1');
}

done_testing();
