# Sixty-four sessions at once. First all of them fire the same event at the same row; then they send many rows on random
# walks, by statements and events, while the machine is defined anew again and again. In the end the history of each row
# is a way through the machine, by the version that each step names, and leads to where the row is.
#
# IDEM_LOAD_ROUNDS says how far each one walks.

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
my $steps = 5 * ($ENV{IDEM_LOAD_ROUNDS} // 12);
my $rows = 40;

my $node = idem_node('machine_load', max_connections => 100, autovacuum_naptime => '1s', deadlock_timeout => '50ms');
$node->safe_psql('postgres', <<"SQL");
SELECT idem_machine_define('walk', ARRAY['a'],
	ARRAY[['a','b','go'],['b','c','go'],['c','a','go'],['a','d','stop'],['d','a','back'],['d','z','leave']]);
CREATE TABLE crowded (id int PRIMARY KEY, status text NOT NULL DEFAULT 'a');
CREATE TABLE walkers (id int PRIMARY KEY, status text NOT NULL DEFAULT 'a', steps int NOT NULL DEFAULT 0);
SELECT idem_machine_attach('crowded', 'status', 'walk', history => true);
SELECT idem_machine_attach('walkers', 'status', 'walk', history => true);
INSERT INTO crowded SELECT i FROM generate_series(1, 3) AS i;
INSERT INTO walkers SELECT i FROM generate_series(1, $rows / 2) AS i;
SQL

# All at once, when the gate opens.
my $holder = IdemTest::Session->new($node);
my @sessions = map { IdemTest::Session->new($node) } 1 .. $clients;

sub crowd
{
	my ($statement_of) = @_;
	my %outcomes;
	$holder->query('SELECT pg_advisory_lock(1);');
	$sessions[$_]->send('DO $$ BEGIN PERFORM pg_advisory_lock_shared(1), pg_advisory_unlock_shared(1); END $$;' . $statement_of->($_))
	  for 0 .. $#sessions;
	wait_until($node, "(SELECT count(*) = $clients FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)", 'crowd');
	$holder->query('SELECT pg_advisory_unlock(1);');
	$outcomes{ $_->receive }++ for @sessions;
	return join ' ', map { "$_: $outcomes{$_}" } sort keys %outcomes;
}

sub transitions
{
	my ($id) = @_;
	return $node->safe_psql('postgres', qq{SELECT from_state, to_state, event, event_id FROM idem_history
		WHERE attachment = 'public.crowded.status' AND key = '{"id": $id}' AND from_state IS NOT NULL});
}

is(crowd(sub { "SELECT outcome FROM idem_fire('crowded', '1', 'stop');" }), 'applied: 1 noop: 63',
	'without ids, one session applies the event, and the others find it done');
is(transitions(1), 'a|d|stop|', 'which is one transition');
is(crowd(sub { "SELECT outcome FROM idem_fire('crowded', '2', 'go', 'evt');" }), 'applied: 1 replayed: 63',
	'with an id, one session applies the event, and the others hear of it');
is(transitions(2), 'a|b|go|evt', 'although the event would lead on from there');
my $mixed = crowd(sub { "SELECT outcome FROM idem_fire('crowded', '3', 'stop'" . ($_[0] % 2 ? ", 'evt');" : ');') });
like($mixed, qr/^applied: 1 noop: \d+ replayed: \d+$/, "some with it, some without: $mixed");
like(transitions(3), qr/^a\|d\|stop\|(?:evt)?$/, 'one transition again');
$_->close for @sessions;

# Ways that a version has not, a state that there is not, a final state, and conflicts that the server finds.
my %expected_error = map { $_ => 1 } qw(ID001 ID002 ID004 40001 40P01);

package Walker
{
	use IdemTestLoad;

	our @ISA = 'IdemTestLoad::Client';

	sub fire { my ($arguments) = @_; return "SELECT outcome FROM idem_fire('walkers', $arguments);"; }

	# Two clients have each id, for the same row and event.
	sub fire_with_id
	{
		my ($self) = @_;
		my $row = 1 + $self->{step} % ($rows / 2);
		my $event = one_of('go', 'jump', 'stop', 'back');
		my $pair = int(($self->{number} + 1) / 2);
		return fire("'$row', '$event', '$pair $event $self->{step}'");
	}

	sub statement
	{
		my ($self) = @_;
		my $near = 1 + int rand $rows / 2;
		my $far = $near + $rows / 2;
		my $status = one_of('a', 'b', 'c', 'd', 'y');
		my $event = chance(5) ? 'leave' : one_of('go', 'jump', 'stop', 'back');
		return one_of(
			fire("'$near', '$event'"),
			$self->fire_with_id, $self->fire_with_id,
			"UPDATE walkers SET status = '$status' WHERE id = $near;",
			"UPDATE walkers SET status = status, steps = steps + 1 WHERE id = $near;",
			"UPDATE walkers SET status = CASE status WHEN 'a' THEN 'b' WHEN 'b' THEN 'c' ELSE status END WHERE id % 7 = $near % 7;",
			"INSERT INTO walkers VALUES ($far) ON CONFLICT (id) DO UPDATE SET status = '$status';",
			"WITH other AS (UPDATE walkers SET status = 'b' WHERE id = $far AND status = 'a')
				UPDATE walkers SET status = 'b' WHERE id = $near AND status = 'a';");
	}

	# The answers that count once the transaction has committed, or undef after an error.
	sub work
	{
		my ($self) = @_;
		my @answers;
		for (1 .. 1 + int rand 3)
		{
			# What is undone may fail, and leaves no trace.
			$self->ask('SAVEPOINT a; ' . $self->statement . ' ROLLBACK TO a;') if chance(20);
			my $answer = $self->ask($self->statement);
			return unless defined $answer;
			push @answers, $answer if $answer ne '';
		}
		return \@answers;
	}

	sub walk
	{
		my ($self) = @_;
		for my $step (1 .. $steps)
		{
			$self->{step} = $step;
			my $level = one_of('READ COMMITTED', 'READ COMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE');
			$self->ask("BEGIN ISOLATION LEVEL $level;") // die 'no transaction';
			my $answers = $self->work;
			if (!$answers || chance(10)) { $self->roll_back; }
			elsif (defined $self->ask('COMMIT;')) { $self->{say}->('outcome', $_) for @$answers; }
		}
		return;
	}
}

my $definer = IdemTest::Session->new($node);
my $definitions = 1;

sub define_anew
{
	pause(0.1);
	my $ways = $definitions++ % 2 ? "['c','b','back'],['a','c','jump']" : "['c','a','go']";
	$definer->query("SELECT idem_machine_define('walk', ARRAY['a'],
		ARRAY[['a','b','go'],['b','c','go'],$ways,['a','d','stop'],['d','a','back'],['d','z','leave']]);");
	return;
}

my $tally = tally(run_clients($clients, sub { Walker->new($node, @_)->walk }, \&define_anew));
$definer->close;
$holder->close;
my %outcomes = %{ $tally->{outcome} };
my %errors = %{ $tally->{error} };
note("outcomes: @{[ %outcomes ]}; errors: @{[ %errors ]}; versions: $definitions");

is("@{ $tally->{died} }", '', 'no client gave up');
is(join(' ', sort grep { !/^(?:applied|noop|replayed)$/ } keys %outcomes), '', 'no outcome but the expected ones');
is(join(' ', sort grep { !$expected_error{$_} } keys %errors), '', 'no error but the expected ones');
cmp_ok($outcomes{$_} // 0, '>', 0, "$_ was among the answers") for 'applied', 'noop', 'replayed';
cmp_ok($errors{$_} // 0, '>', 0, "so was $_") for 'ID001', 'ID004', '40001';
is($node->safe_psql('postgres', 'SELECT max(version) FROM idem_machines'), $definitions, 'each definition was a new version');

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE ways AS SELECT version, t.* FROM idem_machines AS m, idem_machine_transitions(m.name, m.version) AS t;
CREATE TABLE steps AS
	SELECT id, (key ->> 'id')::int AS walker, event, event_id, machine_version, from_state, to_state,
		lag(to_state) OVER (PARTITION BY key ORDER BY id) AS stood
	FROM idem_history WHERE attachment = 'public.walkers.status';
SQL
my $steps_made = $node->safe_psql('postgres', 'SELECT count(*) FROM steps');
note("steps: $steps_made");
is( $node->safe_psql('postgres', q{SELECT * FROM steps WHERE from_state IS DISTINCT FROM stood}),
	'', 'each step begins where the one before it ended, and the first one at birth');
is( $node->safe_psql('postgres', q{SELECT * FROM steps AS s WHERE CASE WHEN from_state IS NULL THEN to_state <> 'a' ELSE NOT EXISTS (
		SELECT FROM ways AS w WHERE w.version = s.machine_version AND w.from_state = s.from_state AND w.to_state = s.to_state
			AND (s.event IS NULL OR w.event = s.event)) END}),
	'', 'each is a way of the version that it names');
is( $node->safe_psql('postgres', q{SELECT id, status FROM walkers WHERE status IS DISTINCT FROM
		(SELECT to_state FROM steps WHERE walker = walkers.id ORDER BY steps.id DESC LIMIT 1)}),
	'', 'and the last one ends where the row is');
is( $node->safe_psql('postgres', 'SELECT count(*) FROM steps WHERE event IS NOT NULL'),
	$outcomes{applied}, 'what was answered with applied is in the history once');
like($node->safe_psql('postgres', 'SELECT count(event_id), count(DISTINCT event_id) FROM steps'), qr/^(\d+)\|\1$/,
	'no id was applied twice');
is( $node->safe_psql('postgres', q{SELECT (SELECT count(*) FROM idem_records WHERE result ->> 'outcome' = 'applied') -
		(SELECT count(*) FROM idem_history WHERE event_id IS NOT NULL)}),
	'0', 'and each that was is remembered');

done_testing();
