# Many clients at once: a process each, with psql sessions that a killer ends at random. What the clients saw
# comes back as lines of tab-separated words.

package IdemTestLoad;

use strict;
use warnings;

use Exporter 'import';
use File::Temp;
use IO::Handle;
use POSIX ();
use Time::HiRes qw(sleep time);

use IdemTest ();

our @EXPORT = qw(run_clients tally chance pause one_of);

sub chance { my ($percent) = @_; return rand(100) < $percent; }
sub pause { my ($most) = @_; sleep(rand($most)); return; }
sub one_of { return $_[ rand @_ ]; }

# Runs $client->($number, $say) in a process for each number from 1 on, and $meanwhile->() in this one, again and
# again until all of them are done. Returns what they said, each time a list of words.
sub run_clients
{
	my ($count, $client, $meanwhile) = @_;
	my $directory = File::Temp->newdir;
	my %running;
	for my $number (1 .. $count)
	{
		my $pid = fork // die "fork: $!";
		if ($pid == 0)
		{
			srand($number);
			open my $file, '>', "$directory/$number" or POSIX::_exit(2);
			my $done = eval { $client->($number, sub { print $file join("\t", @_), "\n" }); 1 };
			print $file "died\t$@" unless $done;
			CORE::close($file);
			# Not exit: the test's own destructors would stop its server.
			POSIX::_exit($done ? 0 : 1);
		}
		$running{$pid} = 1;
	}
	while (%running)
	{
		$meanwhile->();
		for my $pid (keys %running)
		{
			delete $running{$pid} if waitpid($pid, POSIX::WNOHANG()) != 0;
		}
	}
	return map { lines("$directory/$_") } 1 .. $count;
}

sub lines
{
	my ($name) = @_;
	open my $file, '<', $name or die "$name: $!";
	chomp(my @lines = <$file>);
	return map { [ split /\t/ ] } @lines;
}

# Counts what clients said: {outcome}{NAME}, {error}{SQLSTATE}, {result}{KEY}{VALUE}; {died} has a list.
sub tally
{
	my %tally = (outcome => {}, error => {}, result => {}, died => []);
	for my $line (@_)
	{
		my ($what, $first, $second) = @$line;
		if ($what eq 'died') { push @{ $tally{died} }, $first; }
		elsif ($what eq 'result') { $tally{result}{$first}{$second}++; }
		else { $tally{$what}{$first}++; }
	}
	return \%tally;
}

# A client with a connection that may be lost at any time. A subclass has a method turn(KEY), which returns the
# key's result as soon as the client may rely on it, else undef.
package IdemTestLoad::Client;

use Time::HiRes 'time';

sub new
{
	my ($class, $node, $number, $say) = @_;
	return bless { node => $node, number => $number, say => $say }, $class;
}

# Every third client works by SQL alone, so that both ways meet on the same keys.
sub connect
{
	my ($self) = @_;
	my $session = IdemTest::Session->new($self->{node});
	$session->query('SET idem.direct_access = ' . ($self->{number} % 3 ? 'on' : 'off') . ';');
	return $session;
}

# The last line of the answer, or undef after an error.
sub ask
{
	my ($self, $sql) = @_;
	$self->{session} //= $self->connect;
	my $answer = $self->{session}->query($sql);
	my @errors = ($answer // $self->{session}{buffer}) =~ /(?:ERROR|FATAL):  (\w{5})$/gm;
	# Of several statements the rest fail because the first did.
	$self->{say}->('error', $errors[0]) if @errors;
	if (!defined $answer)
	{
		$self->{session}->close;
		delete $self->{session};
		return;
	}
	return if @errors;
	$answer =~ s/.*\n//s;
	return $answer;
}

# Ends a transaction that cannot go on. Returns nothing.
sub roll_back
{
	my ($self) = @_;
	$self->ask('ROLLBACK;') if $self->{session};
	return;
}

sub settle
{
	my ($self, $key) = @_;
	my $deadline = time + IdemTest::DEADLINE;
	while (time < $deadline)
	{
		my $result = $self->turn($key);
		return $self->{say}->('result', $key, $result) if defined $result;
		IdemTestLoad::pause(0.02);
	}
	die "no result for $key\n";
}

# One half of the clients crowds on the same key, the other spreads.
sub settle_all
{
	my ($self, $rounds, $keys) = @_;
	for my $round (1 .. $rounds)
	{
		my @order = 1 .. $keys;
		@order = sort { $b * $self->{number} % ($keys + 1) <=> $a * $self->{number} % ($keys + 1) } @order
		  if $self->{number} % 2;
		$self->settle("key $round.$_") for @order;
	}
	return;
}

1;
