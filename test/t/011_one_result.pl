# Sixty-four clients on the same few keys, with leases: the claim is committed, the work is done outside of any
# transaction, and the result is stored with the token. Leases run out while their owners work, owners are killed,
# some come back too late, and old records are purged all the while. At the end each key has at most one result
# on record, whose effect carries the token of the claim it belongs to, and the tokens of a key have only grown.
#
# IDEM_LOAD_ROUNDS says how often (each round has ten keys).

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
my $keys = 10;
my $rounds = $ENV{IDEM_LOAD_ROUNDS} // 3;

my %expected_outcome = map { $_ => 1 } qw(started replayed in_progress);
# A replaced owner, a lost race under a snapshot, and the killer.
my %expected_error = map { $_ => 1 } qw(ID410 40001 57P01);

my $node = idem_node('load', max_connections => 100, autovacuum_naptime => '1s');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE claims (id bigserial, key text, token bigint, attempt int);
CREATE TABLE effects (key text, token bigint, value text);
SQL

package Client
{
	use IdemTestLoad;

	our @ISA = 'IdemTestLoad::Client';

	# The claim is noted in its own transaction, so that none is missing in the list.
	sub claim
	{
		my ($self, $key) = @_;
		my $level = one_of('READ COMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE');
		my $wait = one_of("NULL", "'0'", "'20 ms'");
		my $answer = $self->ask(
			"BEGIN ISOLATION LEVEL $level;
			WITH claim AS MATERIALIZED (SELECT * FROM idem_begin('$key', lease => '50 ms', wait => $wait)),
			noted AS (INSERT INTO claims (key, token, attempt) SELECT '$key', token, attempt FROM claim WHERE outcome = 'started')
			SELECT outcome, token, result #>> '{}' FROM claim;");
		return $self->roll_back unless defined $answer && defined $self->ask('COMMIT;');
		my @claim = split /\|/, $answer;
		$self->{say}->('outcome', $claim[0]);
		return @claim;
	}

	# Longer than the lease at times. A heartbeat or a checkpoint that comes too late does not stop the client: a
	# careless owner must not do harm either.
	sub work
	{
		my ($self, $key, $token) = @_;
		pause(0.04);
		$self->ask("SELECT idem_extend('$key', token => $token, lease => '50 ms') IS NULL;") if chance(20);
		$self->ask("SELECT idem_checkpoint('$key', 'step', to_jsonb($token), token => $token) IS NULL;") if chance(20);
		pause(0.1) if chance(50);
		return;
	}

	sub finish
	{
		my ($self, $key, $token) = @_;
		my $value = "$self->{number}.$token";
		my $verb = chance(10) ? 'idem_fail' : 'idem_finish';
		my $end = chance(10) ? 'ROLLBACK' : 'COMMIT';
		my $said = $self->ask(
			"BEGIN; INSERT INTO effects VALUES ('$key', $token, '$value');
			SELECT $verb('$key', '\"$value\"', token => $token);");
		return $self->roll_back unless defined $said;
		return defined $self->ask("$end;") && $end eq 'COMMIT' ? $value : undef;
	}

	sub turn
	{
		my ($self, $key) = @_;
		my ($outcome, $token, $result) = $self->claim($key);
		return unless defined $outcome;
		return $result if $outcome eq 'replayed';
		return unless $outcome eq 'started';
		return if chance(10);    # gone without a word
		$self->work($key, $token);
		if (chance(5))
		{
			$self->ask("SELECT idem_release('$key', token => $token);");
			return;
		}
		return $self->finish($key, $token);
	}
}

my ($kills, $purged) = (0, 0);
my $cleaner = IdemTest::Session->new($node);

sub kill_and_purge
{
	pause(0.05);
	my $answer = $cleaner->query(
		"SELECT FROM generate_series(1, 20) AS i, idem_execute('old ' || i, 'SELECT 1', retain => '1 us');
		SELECT idem_purge(15);
		SELECT count(*) FROM (SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1) AS killed;");
	my ($rows, $killed) = $answer =~ /(\d+)\n(\d+)\z/ or die "cleaner: $answer";
	$purged += $rows;
	$kills += $killed;
	return;
}

my @said = run_clients($clients, sub { Client->new($node, @_)->settle_all($rounds, $keys) }, \&kill_and_purge);
$cleaner->close;

my $tally = tally(@said);
my %outcomes = %{ $tally->{outcome} };
my %errors = %{ $tally->{error} };
my %results = %{ $tally->{result} };
note("outcomes: @{[ %outcomes ]}; errors: @{[ %errors ]}; kills: $kills; purged: $purged");

is("@{ $tally->{died} }", '', 'no client gave up');
is(scalar(grep { $_->[0] eq 'result' } @said), $clients * $keys * $rounds, 'each got an answer for every key');
is(join(' ', sort grep { !$expected_outcome{$_} } keys %outcomes), '', 'no outcome but the expected ones');
is(join(' ', sort grep { !$expected_error{$_} } keys %errors), '', 'no error but the expected ones');
cmp_ok($outcomes{$_} // 0, '>', 0, "$_ was among the answers") for sort keys %expected_outcome;
cmp_ok($errors{$_} // 0, '>', 0, "so was $_") for 'ID410', '57P01';
cmp_ok($purged, '>', 0, 'records were purged meanwhile');

my @several = grep { keys %{ $results{$_} } != 1 } sort keys %results;
is("@several", '', 'all clients saw the same result of a key');
is( $node->safe_psql('postgres',
		"SELECT count(*), count(DISTINCT e.key) FROM effects AS e
		JOIN idem_records AS r ON r.key = e.key AND r.token = e.token AND r.result #>> '{}' = e.value
		WHERE r.status IN ('finished', 'failed')"),
	join('|', ($keys * $rounds) x 2), 'each key has a result, and an effect with the token of its claim');
is($node->safe_psql('postgres', 'SELECT count(*) FROM effects'), $keys * $rounds, 'and no other effect');
is( $node->safe_psql('postgres',
		"SELECT count(*) FROM (SELECT token > lag(token) OVER of_key AS grew FROM claims WINDOW of_key AS (PARTITION BY key ORDER BY id)) AS c
		WHERE NOT grew"),
	'0', 'the tokens of a key have only grown');
is( $node->safe_psql('postgres',
		"SELECT count(*) FROM (SELECT attempt, lag(attempt) OVER of_key AS before FROM claims WINDOW of_key AS (PARTITION BY key ORDER BY id)) AS c
		WHERE attempt <> before + 1 AND attempt <> 1"),
	'0', 'their attempts are counted one by one, or anew after a release');
cmp_ok($node->safe_psql('postgres', 'SELECT max(attempt) FROM claims'), '>', 1, 'some were taken over');

done_testing();
