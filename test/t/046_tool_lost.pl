# The lease goes to somebody else: the command is told at once, and ended if it does not listen.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;
use IdemTestTool;

my $node = pgidem_node('lost');

my %statement = (
	once => q{SELECT idem_forget('lost:1', 'pgidem', force => true)},
	lock => q{SELECT idem_forget('lost', 'idem.lock', force => true)});

my $deaf = '$SIG{TERM} = sub { syswrite STDOUT, "told\n" }; syswrite STDOUT, "$$\n"; sleep 1 while 1';

for my $name ([ 'once', '--lease', '6s', 'lost', '1' ], [ 'lock', '--ttl', '6s', 'lost' ])
{
	# One that listens.
	my $run = start(@$name, '--', 'sh', '-c', 'trap "echo told; exit 0" TERM; echo begin; while :; do sleep 0.05; done');
	$run->wait_for_file($run->{stdout}, qr/begin/);
	$node->safe_psql('postgres', $statement{ $name->[0] });
	my $successor = start(@$name, '--', 'sh', '-c', 'echo begin; sleep 1000');
	$successor->wait_for_file($successor->{stdout}, qr/begin/);
	is($run->finish, 75, "$name->[0]: the lease is lost, whatever the command's own status");
	is($run->out, "begin\ntold\n", 'the command was told');
	like($run->err, qr/the lease is lost: .*was lost, and the command stopped/s, 'and so is the user');
	ok(alive($successor->pid) && !$successor->ended, 'the successor is left alone');
	$successor->signal('TERM');
	is($successor->finish, 143, 'and ends by itself');

	# One that does not, with a descendant in a session of its own.
	my $pids = scratch("pids.$name->[0]");
	$run = start(@$name, '--kill-after', '300ms', '--', 'perl', '-e',
		'use POSIX; open my $f, ">>", $ARGV[0]; if (!fork) { POSIX::setsid(); $SIG{TERM} = "IGNORE"; syswrite $f, "$$\n"; sleep 1000 }' . $deaf, $pids);
	$run->wait_for_file($run->{stdout}, qr/\d+\n/);
	$run->wait_for_file($pids, qr/\d+\n/);
	$node->safe_psql('postgres', $statement{ $name->[0] });
	is($run->finish, 75, "$name->[0]: a command that does not listen");
	like($run->out, qr/\A(\d+)\ntold\n\z/, 'was told');
	is(join(' ', map { alive($_) ? 'alive' : 'gone' } $run->out =~ /(\d+)/, content($pids) =~ /(\d+)/),
		'gone gone', 'and is killed, with its descendants');
	$node->safe_psql('postgres', $statement{ $name->[0] });

	# Between two attempts.
	$run = start(@$name, '-v', '--retry', '5', '--backoff', '1h', '--', 'false');
	$run->wait_for_file($run->{stderr}, qr/running it again/);
	$node->safe_psql('postgres', $statement{ $name->[0] });
	is($run->finish, 75, "$name->[0]: lost between two attempts");
}

# The token keeps the late one from recording anything.
is($node->safe_psql('postgres', q{SELECT count(*) FROM idem_records WHERE status = 'finished'}), '0', 'nothing is recorded');

done_testing();
