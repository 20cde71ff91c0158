# Sixty-four clients send for sixteen producers, four of them the same messages for each, in whatever order they come to
# it: one at a time, in batches, with rollbacks, at any isolation level, directly and by SQL, while their connections are
# killed. Every message takes effect once, and none is left out.
#
# IDEM_STREAM_MESSAGES says how many messages each producer has.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;
use IdemTestLoad;

my $clients = 64;
my $producers = 16;
my $messages = $ENV{IDEM_STREAM_MESSAGES} // 40;

my $node = idem_node('load', max_connections => 100);
$node->safe_psql(
	'postgres', qq{
	CREATE TABLE effects (producer bigint, n bigint);
	SELECT idem_stream_set('load', remember => 3);
	CREATE TABLE names AS SELECT i AS number, (idem_producer('p' || i, 'load')).producer_id AS id FROM generate_series(1, $producers) AS i});

my @ids = split /\n/, $node->safe_psql('postgres', 'SELECT id FROM names ORDER BY number');

package Client
{
	use IdemTestLoad;

	our @ISA = 'IdemTestLoad::Client';

	# Sends from where it believes the producer to be; true when all is done.
	sub send_batch
	{
		my ($self, $id) = @_;
		my $first = $self->{next};
		my $last = $first + int rand 3;
		$last = $messages if $last > $messages;
		my $level = one_of('read committed', 'repeatable read', 'serializable');
		my $given = chance(30)
		  ? "SELECT n FROM idem_accept_many('load', $id, 1, ARRAY(SELECT generate_series(CAST($first AS bigint), $last))) AS n"
		  : "SELECT n FROM idem_accept('load', $id, 1, $first, $last, result => '$last') AS a, generate_series(a.first_seq, a.last_seq) AS n WHERE a.outcome = 'accepted'";
		my $end = chance(15) ? 'ROLLBACK' : 'COMMIT';
		my $answer = $self->ask("BEGIN ISOLATION LEVEL $level;
			WITH new AS MATERIALIZED ($given) INSERT INTO effects SELECT $id, n FROM new;
			$end; SELECT last_seq FROM idem_producers WHERE producer_id = $id;");
		if (!defined $answer)
		{
			$self->roll_back;
			# Another client of the same producer may have sent a part of it.
			my $known = $self->ask("SELECT last_seq FROM idem_producers WHERE producer_id = $id;") // return;
			$self->{next} = $known + 1;
			return $known >= $messages;
		}
		$self->{say}->('outcome', $end);
		$self->{next} = chance(20) ? 1 + int rand($answer + 1) : $answer + 1;
		$self->{next} = $messages if $self->{next} > $messages;
		return $answer >= $messages;
	}

	sub run
	{
		my ($self) = @_;
		my $id = $ids[ $self->{number} % $producers ];
		$self->{next} = 1;
		my $deadline = time + 100;
		until ($self->send_batch($id))
		{
			die "not done in time\n" if time > $deadline;
		}
		return;
	}
}

my $killer = IdemTest::Session->new($node);
my $kills = 0;
my $tally = tally(
	run_clients(
		$clients,
		sub {
			my ($number, $say) = @_;
			Client->new($node, $number, $say)->run;
		},
		sub {
			$kills += $killer->query("SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity
				WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
				ORDER BY random() LIMIT 1) AS one;");
			pause(0.2);
		}));
is_deeply($tally->{died}, [], 'every client comes to an end');
is( $node->safe_psql('postgres', 'SELECT min(last_seq), max(last_seq), count(*) FROM idem_producers'),
	"$messages|$messages|$producers", 'every producer has sent all');
is( $node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT (producer, n)), min(n), max(n) FROM effects'),
	join('|', $messages * $producers, $messages * $producers, 1, $messages), 'every message took effect once');
cmp_ok($tally->{outcome}{ROLLBACK} // 0, '>', 0, 'some were rolled back');
cmp_ok($kills, '>', 0, 'some connections were killed');
my %expected = map { $_ => 1 } qw(ID030 40001 40P01 25P02 57P01 08006 08003 57P03);
is_deeply([ grep { !$expected{$_} } sort keys %{ $tally->{error} } ], [], 'no error but those a sender has to expect');
note join ', ', map { "$_: $tally->{error}{$_}" } sort keys %{ $tally->{error} };
done_testing();
