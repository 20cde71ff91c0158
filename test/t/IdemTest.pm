# What the tests share: a server with the extension, and psql sessions that a test talks to line by line.
#
# A session's answer is the rows, unaligned, and for every error a line such as "ERROR:  ID410". PostgreSQL's own
# background sessions are not used because they differ from release to release.

package IdemTest;

use strict;
use warnings;

use Exporter 'import';
use File::Spec;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

our @EXPORT = qw(idem_node kill_and_recover log_since wait_for wait_until);

# Far beyond what anything takes: on a busy machine it is only to end a test that hangs.
use constant DEADLINE => 300;

# A started server whose database "postgres" holds the extension. Settings are name => value.
sub idem_node
{
	my ($name, %settings) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(allows_streaming => 1);
	$node->append_conf('postgresql.conf', "$_ = '$settings{$_}'") for sort keys %settings;
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION pg_idem');
	return $node;
}

# What the server has logged from a position on; without one, the position to pass later.
sub log_since
{
	my ($node, $position) = @_;
	return -s $node->logfile unless defined $position;
	return substr(slurp_file($node->logfile), $position);
}

sub wait_for
{
	my ($condition, $what, $pause) = @_;
	my $deadline = time + DEADLINE;
	until ($condition->())
	{
		die "timed out: $what" if time > $deadline;
		select(undef, undef, undef, $pause // 0.01);
	}
	return;
}

# Waits until an expression of SQL is true; the server may restart meanwhile. Without a server psql ends before it
# reads its input, so that writing to it would fail: it has none.
sub wait_until
{
	my ($node, $expression, $what, $database) = @_;
	my @psql = (
		'psql', '--no-psqlrc', '--no-align', '--tuples-only', '--quiet',
		'--dbname', $node->connstr($database // 'postgres'), '--command', "SELECT $expression");
	my ($answer, $errors);
	wait_for(
		sub {
			IPC::Run::run(\@psql, '<', File::Spec->devnull, '>', \$answer, '2>', \$errors);
			return $answer eq "t\n";
		},
		$what,
		0.1);
	return;
}

# Kills a process of a server that restarts after a crash, and with it all others, and waits until it is back.
sub kill_and_recover
{
	my ($node, $pid) = @_;
	my $position = log_since($node);
	kill 'KILL', $pid or die "kill: $!";
	wait_for(sub { log_since($node, $position) =~ /all server processes terminated; reinitializing/ }, 'crash');
	wait_until($node, 'NOT pg_is_in_recovery()', 'recovery');
	return;
}

package IdemTest::Session;

use IO::Select;
use IPC::Open3;
use POSIX ();
use Time::HiRes 'time';

sub new
{
	my ($class, $node, $database) = @_;
	my $self = bless { marker => 0, buffer => '' }, $class;
	# Without a separate handle for errors they arrive among the rows.
	$self->{process} = open3(
		my $in, my $out, undef,
		'psql', '--no-psqlrc', '--no-align', '--tuples-only', '--quiet',
		'--set', 'VERBOSITY=sqlstate', '--dbname', $node->connstr($database // 'postgres'));
	$in->autoflush(1);
	@$self{qw(in out)} = ($in, $out);
	return $self;
}

# Starts statements, each ended by a semicolon, without waiting for them.
sub send
{
	my ($self, $sql) = @_;
	local $SIG{PIPE} = 'IGNORE';
	$self->{marker}++;
	print { $self->{in} } "$sql\n\\echo == $self->{marker} ==\n" or $self->{lost} = 1;
	return;
}

# The answer to what was sent, or undef if the connection was lost before the answer was complete.
sub receive
{
	my ($self) = @_;
	my $end = "== $self->{marker} ==\n";
	my $deadline = time + IdemTest::DEADLINE;
	my $select = IO::Select->new($self->{out});
	while ($self->{buffer} !~ /^\Q$end\E/m)
	{
		return if $self->{lost};
		my $left = $deadline - time;
		die "no answer from psql; it said: $self->{buffer}" if $left <= 0;
		next unless $select->can_read($left);
		my $read = sysread $self->{out}, $self->{buffer}, 65536, length $self->{buffer};
		$self->{lost} = 1 unless $read;
	}
	$self->{buffer} =~ s/\A(.*?)^\Q$end\E//ms;
	my $answer = $1;
	chomp $answer;
	return $answer;
}

sub query
{
	my ($self, $sql) = @_;
	$self->send($sql);
	return $self->receive;
}

sub backend
{
	my ($self) = @_;
	return $self->{backend} //= $self->query('SELECT pg_backend_pid();');
}

sub close
{
	my ($self) = @_;
	close $self->{in};
	close $self->{out};
	waitpid $self->{process}, 0;
	return;
}

1;
