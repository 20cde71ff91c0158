# Sixteen clients claim, prolong, finish, lose and take over a few keys whose leases and retentions are short, while the
# worker removes what has expired as fast as it can, and operators have it removed as well. Nobody is told anything but
# what the reference says, no claim has two owners, and no result is lost while it has to be kept.
#
# IDEM_LOAD_ROUNDS says how often each client works on each key.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;
use IdemTestCleanup;
use IdemTestLoad;

my $clients = 16;
my $keys = 5;
my $rounds = $ENV{IDEM_LOAD_ROUNDS} // 60;

my %expected_outcome = map { $_ => 1 } qw(started replayed in_progress);
# No longer the owner; the record is gone; settled by somebody else.
my %expected_error = map { $_ => 1 } qw(ID404 ID409 ID410);

my $node = cleanup_node('race', max_connections => 50, 'idem.cleanup_batch' => 3);
$node->safe_psql('postgres', <<'SQL');
SELECT idem_scope_set('kept', on_expiry => 'archive', retain => '30 ms', lease => '20 ms');
SELECT idem_scope_set('brief', retain => '30 ms', lease => '20 ms');
SELECT idem_scope_set('lasting', retain => '1 hour', lease => '20 ms');
CREATE TABLE effects (scope text, key text, token bigint, value text);
CREATE TABLE ended (token bigint PRIMARY KEY, how text);
SQL

package Client
{
	use IdemTestLoad;

	our @ISA = 'IdemTestLoad::Client';

	# One way to go on with a claim. Each is a transaction, so that a claim's end and its trace are one.
	sub go_on
	{
		my ($self, $key, $scope, $token) = @_;
		my $value = "$self->{number}." . ++$self->{attempts};
		if (chance(40)) { $self->ask("SELECT FROM idem_extend('$key', '$scope', $token, '20 ms');") // return; }
		if (chance(20)) { $self->ask("SELECT idem_checkpoint('$key', 'half', NULL, '$scope', $token);") // return; }
		pause(0.03) if chance(50);
		return if chance(15);
		my ($how, $call) = @{
			one_of(
				([ 'finished', "idem_finish('$key', '\"$value\"', '$scope', $token)" ]) x 4,
				[ 'released', "idem_release('$key', '$scope', $token)" ])
		};
		$self->ask("BEGIN; INSERT INTO ended VALUES ($token, '$how');
				INSERT INTO effects SELECT '$scope', '$key', $token, '$value' WHERE '$how' = 'finished'; SELECT $call; COMMIT;");
		return $self->roll_back;
	}

	sub turn
	{
		my ($self, $key) = @_;
		for my $scope (qw(kept brief lasting))
		{
			my $wait = one_of(q{'0'}, q{'0'}, q{'10 ms'});
			my $answer = $self->ask("SELECT outcome, token, result #>> '{}' FROM idem_begin('$key', '$scope', wait => $wait);");
			next unless defined $answer;
			my ($outcome, $token, $result) = split /\|/, $answer;
			$self->{say}->('outcome', $outcome);
			$self->{say}->('token', $token) if $outcome eq 'started';
			$self->{say}->('result', "$scope $key", $result) if $outcome eq 'replayed';
			$self->go_on($key, $scope, $token) if $outcome eq 'started';
		}
		return;
	}
}

# Operators are in a hurry, too.
my $operator = IdemTest::Session->new($node);

sub clean_up
{
	$operator->query(one_of('SELECT idem_cleanup_now();', 'SELECT idem_purge(2);'));
	pause(0.02);
	return;
}

sub client
{
	my $client = Client->new($node, @_);
	for my $round (1 .. $rounds)
	{
		$client->turn("key $_") for 1 .. $keys;
	}
	return;
}

my @said = run_clients($clients, \&client, \&clean_up);
my $tally = tally(@said);
my %outcomes = %{ $tally->{outcome} };
my %errors = %{ $tally->{error} };
my %results = %{ $tally->{result} };
note("outcomes: @{[ %outcomes ]}; errors: @{[ %errors ]}");

is("@{ $tally->{died} }", '', 'no client gave up');
is(join(' ', sort grep { !$expected_outcome{$_} } keys %outcomes), '', 'no outcome but the expected ones');
is(join(' ', sort grep { !$expected_error{$_} } keys %errors), '', 'no error but the expected ones');
cmp_ok($outcomes{$_} // 0, '>', 0, "$_ was among the answers") for sort keys %expected_outcome;

my %owners;
$owners{$_}++ for map { $_->[1] } grep { $_->[0] eq 'token' } @said;
is(join(' ', grep { $owners{$_} > 1 } keys %owners), '', 'no token was given to two clients');

# What was finished is what was replayed.
my @effects = map { [ split /\|/ ] } split /\n/,
  $node->safe_psql('postgres', 'SELECT scope, key, token, value FROM effects');
my %made = map { ("$_->[0] $_->[1] $_->[3]" => 1) } @effects;
my @wrong;
for my $record (sort keys %results)
{
	push @wrong, map { "$record $_" } grep { !$made{"$record $_"} } sort keys %{ $results{$record} };
}
is(join(', ', @wrong), '', 'each replay gave the result of a claim that was finished');
my @several = grep { /^lasting/ && keys %{ $results{$_} } != 1 } sort keys %results;
is(join(', ', @several), '', 'and the same one to everybody, where results are kept');
is($node->safe_psql('postgres',
	q{SELECT key FROM effects WHERE scope = 'lasting' GROUP BY key HAVING count(*) > 1}),
	'', 'no key whose result is kept had two effects');
is($node->safe_psql('postgres', q{SELECT count(DISTINCT key) FROM effects WHERE scope = 'lasting'}), $keys,
	'all of them had one');

# Once everything has expired, all finished records of the archived scope are there, also those whose key was claimed
# again before anybody had removed them.
until_sql($node, 'postgres',
	q{SELECT idem_cleanup_now() IS NOT NULL
	AND NOT EXISTS (SELECT FROM idem_records WHERE scope <> 'lasting')});
is( $node->safe_psql('postgres',
		q{SELECT scope, key, token, result #>> '{}' FROM idem_archive WHERE status = 'finished' ORDER BY token}),
	$node->safe_psql('postgres', q{SELECT scope, key, token, value FROM effects WHERE scope = 'kept' ORDER BY token}),
	'every finished record was archived, once');
cmp_ok(status($node, 'rows', 'postgres', 'idem_records'), '>', 0, 'the worker had its part in it');
is(status($node, 'errors', 'postgres', 'idem_records'), 0, 'and no trouble');
$operator->close;

done_testing();
