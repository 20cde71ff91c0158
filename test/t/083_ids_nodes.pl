# Sixty-four sessions claim a number at once from a pool of sixty-four, at all isolation levels: each gets one, no two the
# same. Then all numbers lapse and are claimed again: the windows of one number's holders do not overlap.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;
use IdemTestLoad;

use constant { CLIENTS => 64, ROUNDS => 3 };

my @LEVELS = ('read committed', 'repeatable read', 'serializable');

my $node = idem_node('nodes', max_connections => '100');
my $start = $node->basedir . '/start';
my $connected = $node->basedir . '/connected';
mkdir $connected;

sub touch
{
	my ($name) = @_;
	open my $file, '>', $name or die "$name: $!";
	close $file;
	return;
}

# Everybody waits for all others. The lease is that of a generator which stops without a word.
sub claim_at_once
{
	my ($pool, $ttl) = @_;
	unlink $start, glob "$connected/*";
	return run_clients(
		CLIENTS,
		sub {
			my ($number, $say) = @_;
			my $level = $LEVELS[ $number % @LEVELS ];
			my $session = IdemTest::Session->new($node);
			$session->query("SET default_transaction_isolation = '$level';");
			touch("$connected/$number");
			wait_for(sub { -e $start }, 'the start');
			my $answer = $session->query(
				"SELECT node, claimed_at, expires_at FROM idem_node_claim('$pool', $ttl, last => @{[ CLIENTS - 1 ]});");
			$say->('result', split /\|/, $answer // 'lost');
			$session->close;
		},
		sub {
			my @there = glob "$connected/*";
			touch($start) if @there == CLIENTS && !-e $start;
			pause(0.05);
		});
}

sub numbers
{
	my %seen;
	$seen{ $_->[1] }++ for @_;
	return join ' ', map { $seen{$_} == 1 ? $_ : "$_ ($seen{$_} times)" } sort { $a <=> $b } keys %seen;
}

my $all = join ' ', 0 .. CLIENTS - 1;
is(numbers(claim_at_once('crowd', "'1 hour'")), $all, 'everybody has a number of its own');
is($node->safe_psql('postgres', "SELECT acquired FROM idem_node_claim('crowd', last => @{[ CLIENTS - 1 ]})"),
	'f', 'and none is left');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), '0', 'nobody is left in a line');

$node->safe_psql('postgres', 'CREATE TABLE windows (node integer, claimed_at timestamptz, expires_at timestamptz)');
for my $round (1 .. ROUNDS)
{
	for (claim_at_once('short', "'200 ms'"))
	{
		my ($what, $number, $from, $to) = @$_;
		next unless defined $to;
		$node->safe_psql('postgres', "INSERT INTO windows VALUES ($number, '$from', '$to')");
	}
	wait_until($node, 'NOT EXISTS (SELECT FROM idem_locks WHERE name ~ \'^short:\')', 'the end of the leases');
}
is( $node->safe_psql('postgres', q{
		SELECT count(*) FROM (SELECT claimed_at < lag(expires_at) OVER (PARTITION BY node ORDER BY claimed_at) AS overlap
			FROM windows) AS w WHERE overlap}),
	'0', 'no two windows of a number overlap');
cmp_ok($node->safe_psql('postgres', 'SELECT count(*) - count(DISTINCT node) FROM windows'), '>', 0, 'although numbers came again');

$node->stop;
done_testing();
