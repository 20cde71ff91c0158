# The network between pgidem and the server: a process that passes bytes on, and that a test stops to cut the line.

package IdemTestProxy;

use strict;
use warnings;

use IO::Select;
use IO::Socket::INET;
use IO::Socket::UNIX;
use POSIX ();

# A line from a port of this machine to the socket of a server.
sub new
{
	my ($class, $node) = @_;
	my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 50, ReuseAddr => 1) or die "cannot listen: $!";
	my $self = bless { port => $listener->sockport }, $class;
	$self->{pid} = fork // die "cannot fork: $!";
	return $self if $self->{pid};
	$SIG{TERM} = 'DEFAULT';
	pass_on($listener, $node->host . '/.s.PGSQL.' . $node->port);
	POSIX::_exit(0);
}

sub pass_on
{
	my ($listener, $socket) = @_;
	my $select = IO::Select->new($listener);
	my %other;
	while (1)
	{
		for my $ready ($select->can_read)
		{
			if ($ready == $listener)
			{
				my $client = $listener->accept or next;
				my $server = IO::Socket::UNIX->new(Peer => $socket) or next;
				@other{ $client, $server } = ($server, $client);
				$select->add($client, $server);
				next;
			}
			my $other = $other{$ready} or next;
			my $bytes;
			next if sysread($ready, $bytes, 65536) && syswrite($other, $bytes);
			$select->remove($ready, $other);
			delete @other{ $ready, $other };
			close $_ for $ready, $other;
		}
	}
	return;
}

sub port { return shift->{port} }

sub cut { return kill 'STOP', shift->{pid} }
sub mend { return kill 'CONT', shift->{pid} }

sub DESTROY
{
	my ($self) = @_;
	return unless $self->{pid};
	local ($?, $!);
	kill 'KILL', $self->{pid};
	waitpid $self->{pid}, 0;
	return;
}

1;
