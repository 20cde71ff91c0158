# Without a server, an extension or write access: fail, skip, run or local, and never silently.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;
use IdemTestTool;

my $node = pgidem_node('unavailable');
$node->safe_psql('postgres', 'CREATE DATABASE plain');
$node->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'copy', has_streaming => 1);
$standby->start;

my $run_number = 0;

sub words
{
	my ($name, @options) = @_;
	return $name eq 'once' ? ('once', @options, "unavailable$$", ++$run_number) : ('lock', @options, "unavailable$$");
}

my %reason = (
	'no server' => sub { $ENV{PGPORT} = 1 },
	'no such host' => sub { $ENV{PGHOST} = 'nowhere.invalid' },
	'no extension' => sub { $ENV{PGDATABASE} = 'plain' },
	'a standby' => sub { @ENV{qw(PGHOST PGPORT)} = ($standby->host, $standby->port) },
	'a read-only role' => sub { $ENV{PGOPTIONS} = '-c default_transaction_read_only=on' });

for my $reason (sort keys %reason)
{
	local %ENV = %ENV;
	$reason{$reason}->();
	for my $name ('once', 'lock')
	{
		my ($status, $out, $err) = pgidem(words($name), '--', 'echo', 'ran');
		is("$status $out", '69 ', "$name, $reason: unavailable");
		like($err, qr/\Apgidem: .+\n\z/, 'with a reason');
		is((pgidem(words($name, '--if-unavailable', 'fail'), '--', 'echo'))[0], 69, 'also when it is to fail');

		($status, $out, $err) = pgidem(words($name, '--if-unavailable', 'skip'), '--', 'echo', 'ran');
		is("$status $out", '0 ', 'skip: nothing is run');
		like($err, qr/NOT RUN/, 'loudly');

		($status, $out, $err) = pgidem(words($name, '--if-unavailable', 'run'), '--', 'sh', '-c', 'echo ran; exit 7');
		is("$status $out", "7 ran\n", 'run: it is run');
		like($err, qr/WITHOUT PROTECTION/, 'loudly');

		($status, $out, $err) = pgidem(words($name, '--if-unavailable', 'local'), '--', 'sh', '-c', 'echo ran; exit 8');
		is("$status $out", "8 ran\n", 'local: it is run');
		like($err, qr/on THIS MACHINE ONLY/, 'loudly');
	}
}
$standby->stop;

# What is wrong with the call is wrong whatever shall happen without a server.
is((pgidem('lock', '--if-unavailable', 'run', 'x' x 513, '--', 'echo'))[0], 64, 'a bad name is no lack of a server');
$node->safe_psql('postgres', 'CREATE ROLE nobody LOGIN');
{
	local $ENV{PGUSER} = 'nobody';
	is((pgidem('lock', '--if-unavailable', 'run', 'x', '--', 'echo'))[0], 77, 'and neither is a lack of rights');
}

# The local lock excludes on this machine, waits as the other does, and outlives a killed pgidem with its command.
local $ENV{PGPORT} = 1;
my @local = ('lock', '--if-unavailable', 'local', "local$$");
my $run = start(@local, '--', 'sh', '-c', 'echo $$; exec sleep 1000');
my ($pid) = $run->wait_for_file($run->{stdout}, qr/\d+\n/) =~ /(\d+)/;
is((pgidem(@local, '--', 'echo'))[0], 1, 'a second one is told');
is((pgidem(@local, '-E', '9', '--wait', '200ms', '--', 'echo'))[0], 9, 'also after a wait');
is((pgidem('once', '--if-unavailable', 'local', "local$$", '1', '--', 'true'))[0], 0, 'a run of that name is another thing');
my $next = start(@local, '--wait', '100s', '--', 'echo', 'next');
$next->wait_for_file($next->{stderr}, qr/THIS MACHINE/);
$run->signal('TERM');
is($run->finish, 143, 'the first one ends');
is($next->finish, 0, 'who waits gets it');
$run = start(@local, '--kill-after', '1s', '--', 'perl', '-e', '$| = 1; $SIG{TERM} = "IGNORE"; print "$$\n"; sleep 1000');
($pid) = $run->wait_for_file($run->{stdout}, qr/\d+\n/) =~ /(\d+)/;
$run->signal('KILL');
$run->finish;
while (1)
{
	my ($status) = pgidem(@local, '--', 'true');
	last if $status == 0;
	is($status, 1, 'pgidem is killed: as long as its command is alive, the lock is held');
}
ok(!alive($pid), 'and then both are gone');

# The file is safe from others: a directory of somebody else, or one that others may enter, is refused.
my $directory = (-w '/run/lock' ? '/run/lock' : '/tmp') . "/pgidem-$>";
is((stat $directory)[2] & 07777, 0700, 'the directory is its user\'s alone');
SKIP:
{
	skip 'the directory is in use', 3 unless rename $directory, "$directory.$$";
	symlink "$directory.$$", $directory or die "cannot make a link: $!";
	my ($status, $out, $err) = pgidem(@local, '--', 'echo', 'ran');
	is("$status $out", '73 ', 'a symbolic link in its place is refused');
	unlink $directory;
	mkdir $directory or die "cannot make a directory: $!";
	chmod 0777, $directory;
	is((pgidem(@local, '--', 'echo'))[0], 73, 'so is a directory that others may write to');
	rmdir $directory;
	rename "$directory.$$", $directory or die "cannot put the directory back: $!";
	is((pgidem(@local, '--', 'true'))[0], 0, 'all is well again');
}

done_testing();
