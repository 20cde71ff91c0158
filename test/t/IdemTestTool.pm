# pgidem as a program: run to its end, or started and watched.

package IdemTestTool;

use strict;
use warnings;

use Exporter 'import';
use File::Temp;
use FindBin;
use Time::HiRes ();

use IdemTest;
use Test::More;

our @EXPORT = qw(pgidem pgidem_node alive content open_gate process_gone scratch start use_server);

our $PROGRAM = "$FindBin::RealBin/../../pgidem";
my $scratch = File::Temp->newdir;

# A server that pgidem finds by itself. Without the tool there is nothing to test.
sub pgidem_node
{
	my ($name, %settings) = @_;
	plan(skip_all => 'pgidem is not built') unless -x $PROGRAM;
	my $node = idem_node($name, %settings);
	use_server($node);
	return $node;
}

sub use_server
{
	my ($node) = @_;
	delete @ENV{ 'PGAPPNAME', grep { /^PGIDEM_/ } keys %ENV };
	@ENV{qw(PGHOST PGPORT PGDATABASE)} = ($node->host, $node->port, 'postgres');
	return;
}

# A file of this test, by its name.
sub scratch { return "$scratch/" . shift }

sub content
{
	my ($file) = @_;
	open my $handle, '<', $file or return '';
	local $/;
	return <$handle> // '';
}

# Makes the file that a command waits for.
sub open_gate
{
	my ($gate) = @_;
	open my $handle, '>', $gate or die "cannot write $gate: $!";
	close $handle;
	return;
}

# Zombies are not alive.
sub alive
{
	my ($pid) = @_;
	my $stat = content("/proc/$pid/stat");
	return $stat =~ /\) ([A-Z])/ && $1 !~ /[ZX]/;
}

sub process_gone
{
	my ($pid, $what) = @_;
	wait_for(sub { !alive($pid) }, "the end of $what");
	return;
}

sub start { return IdemTestTool::Process->new(@_) }

# Runs it to the end: exit status as a shell has it, stdout, stderr.
sub pgidem
{
	my $run = start(@_);
	return ($run->finish, $run->out, $run->err);
}

package IdemTestTool::Process;

use POSIX ();

my $count = 0;

# Starts it. An option `before` is run in the new process.
sub new
{
	my ($class, @arguments) = @_;
	my %options = ref $arguments[0] ? %{ shift @arguments } : ();
	my $number = ++$count;
	my $self = bless { map { $_ => IdemTestTool::scratch("$_.$number") } qw(stdout stderr) }, $class;
	$self->{pid} = fork // die "cannot fork: $!";
	return $self if $self->{pid};
	open STDIN, '<', '/dev/null' or POSIX::_exit(99);
	open STDOUT, '>', $self->{stdout} or POSIX::_exit(99);
	open STDERR, '>', $self->{stderr} or POSIX::_exit(99);
	# Whoever runs the tests in the background has some of them ignored.
	$SIG{$_} = 'DEFAULT' for qw(INT QUIT HUP TERM PIPE USR1 USR2);
	$options{before}->() if $options{before};
	{ exec { $options{program} // $IdemTestTool::PROGRAM } 'pgidem', @arguments }
	POSIX::_exit(98);
}

sub pid { return shift->{pid} }
sub out { return IdemTestTool::content(shift->{stdout}) }
sub err { return IdemTestTool::content(shift->{stderr}) }

sub signal
{
	my ($self, $signal) = @_;
	kill $signal, $self->{pid} or die "cannot send $signal: $!";
	return;
}

# Whether it has ended.
sub ended
{
	my ($self) = @_;
	return 1 if defined $self->{status};
	return 0 unless waitpid($self->{pid}, POSIX::WNOHANG()) == $self->{pid};
	$self->{status} = $? & 127 ? 128 + ($? & 127) : $? >> 8;
	return 1;
}

# Waits for its end: the status.
sub finish
{
	my ($self) = @_;
	my $deadline = Time::HiRes::time() + IdemTest::DEADLINE;
	until ($self->ended)
	{
		if (Time::HiRes::time() > $deadline)
		{
			kill 'KILL', $self->{pid};
			die "pgidem does not end; it said: " . $self->err;
		}
		select undef, undef, undef, 0.01;
	}
	return $self->{status};
}

# Waits until a file says something; what it says.
sub wait_for_file
{
	my ($self, $file, $pattern) = @_;
	IdemTest::wait_for(
		sub {
			die "pgidem ended; it said: " . $self->err
			  if $self->ended && IdemTestTool::content($file) !~ $pattern;
			return IdemTestTool::content($file) =~ $pattern;
		},
		"$file to say $pattern");
	return IdemTestTool::content($file);
}

1;
