# Sixty-four clients work on the same few keys, each in one transaction: claim, effect, finish. Transactions roll
# back, savepoints roll back, backends are killed, and isolation levels are mixed. Every client repeats until it
# has a committed answer. At the end each key has had one effect, and everybody has seen its result.
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
my $rounds = $ENV{IDEM_LOAD_ROUNDS} // 12;

my %expected_outcome = map { $_ => 1 } qw(started replayed in_progress);
# A lost race under a snapshot, and the killer.
my %expected_error = map { $_ => 1 } qw(40001 57P01);

my $node = idem_node('load', max_connections => 100, autovacuum_naptime => '1s');
$node->safe_psql('postgres', 'CREATE TABLE effects (key text, value text)');

package Client
{
	use IdemTestLoad;

	our @ISA = 'IdemTestLoad::Client';

	sub claim
	{
		my ($self, $key) = @_;
		my $arguments = one_of("'$key'", "'$key', wait => '0'", "'$key', wait => '20 ms'", "'$key', wait => '1 min'");
		my $answer = $self->ask("SELECT outcome, result #>> '{}' FROM idem_begin($arguments);") // return;
		my ($outcome, $result) = split /\|/, $answer;
		$self->{say}->('outcome', $outcome);
		return ($outcome, $result);
	}

	# What is undone leaves no trace in the transaction that goes on.
	sub detour
	{
		my ($self, $key) = @_;
		return $self->ask("SAVEPOINT a; SELECT outcome FROM idem_begin('$key', wait => '0');
			INSERT INTO effects VALUES ('$key', 'undone'); ROLLBACK TO a;");
	}

	sub work
	{
		my ($self, $key) = @_;
		my $value = "$self->{number}." . ++$self->{attempts};
		$self->ask("INSERT INTO effects VALUES ('$key', '$value');") // return;
		pause(0.01);
		if (chance(10))
		{
			$self->ask("SAVEPOINT b; SELECT idem_finish('$key', '\"undone\"'); ROLLBACK TO b;") // return;
		}
		return $self->ask("SELECT idem_finish('$key', '\"$value\"');") && $value;
	}

	# The result of the key, if this transaction got it or made it and committed.
	sub transaction
	{
		my ($self, $key) = @_;
		my $level = one_of('READ COMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE');
		$self->ask("BEGIN ISOLATION LEVEL $level;") // return;
		if (chance(10)) { $self->detour($key) // return; }
		my ($outcome, $result) = $self->claim($key);
		return unless defined $outcome && $outcome ne 'in_progress';
		if ($outcome eq 'started')
		{
			$result = $self->work($key) // return;
			return if chance(30);
		}
		# What a transaction was told counts once it has committed.
		return defined $self->ask('COMMIT;') ? $result : undef;
	}

	sub turn
	{
		my ($self, $key) = @_;
		my $result = $self->transaction($key);
		return $result // $self->roll_back;
	}
}

my $kills = 0;
my $killer = IdemTest::Session->new($node);
# A session that ended by itself meanwhile is only worth a warning.
$killer->query("SET client_min_messages = error;");

sub kill_somebody
{
	pause(0.1);
	$kills += $killer->query(
		"SELECT count(*) FROM (SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 2) AS killed;");
	return;
}

my @said = run_clients($clients, sub { Client->new($node, @_)->settle_all($rounds, $keys) }, \&kill_somebody);
$killer->close;

my $tally = tally(@said);
my %outcomes = %{ $tally->{outcome} };
my %errors = %{ $tally->{error} };
my %results = %{ $tally->{result} };
note("outcomes: @{[ %outcomes ]}; errors: @{[ %errors ]}; kills: $kills");

is("@{ $tally->{died} }", '', 'no client gave up');
is(scalar(grep { $_->[0] eq 'result' } @said), $clients * $keys * $rounds, 'each got an answer for every key');
is(join(' ', sort grep { !$expected_outcome{$_} } keys %outcomes), '', 'no outcome but the expected ones');
is(join(' ', sort grep { !$expected_error{$_} } keys %errors), '', 'no error but the expected ones');
cmp_ok($outcomes{$_} // 0, '>', 0, "$_ was among the answers") for sort keys %expected_outcome;
cmp_ok($errors{$_} // 0, '>', 0, "so was $_") for '40001', '57P01';

my @several = grep { keys %{ $results{$_} } != 1 } sort keys %results;
is("@several", '', 'all clients saw the same result of a key');
is( $node->safe_psql('postgres', "SELECT count(*), count(DISTINCT key) FROM effects"),
	join('|', ($keys * $rounds) x 2), 'each key had exactly one effect');
is( $node->safe_psql('postgres',
		"SELECT count(*) FROM effects AS e JOIN idem_records AS r ON r.key = e.key AND r.result #>> '{}' = e.value
		WHERE r.status = 'finished' AND r.attempt = 1"),
	$keys * $rounds, 'and its record holds the result of that effect');
my %effect = map { split /\|/ } split /\n/, $node->safe_psql('postgres', 'SELECT key, value FROM effects');
my @wrong = grep { !$results{$_}{ $effect{$_} // '' } } sort keys %results;
is("@wrong", '', 'which is what the clients saw');

done_testing();
