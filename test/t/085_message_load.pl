# Sixty-four sessions deliver the same messages, by idem_accept_id and by inserting into an attached table.
# Transactions roll back, savepoints roll back, backends are killed, and isolation levels are mixed. Everybody
# delivers until it is told, in a transaction that commits, that the message is new or known. At the end each
# message has been stored once.
#
# IDEM_LOAD_ROUNDS says how often (each round has ten messages).

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
my $messages = 10;
my $rounds = $ENV{IDEM_LOAD_ROUNDS} // 6;

# A lost race under a snapshot, and the killer.
my %expected_error = map { $_ => 1 } qw(40001 57P01);

my $node = idem_node('message_load', max_connections => 100, autovacuum_naptime => '1s');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE effects (message text, by text);
CREATE TABLE inbox (message text, by text);
SELECT idem_stream_attach('inbox', 'inbox', 'message');
SQL

package Client
{
	use IdemTestLoad;

	our @ISA = 'IdemTestLoad::Client';

	# What is undone leaves no trace in the transaction that goes on.
	sub detour
	{
		my ($self, $message) = @_;
		return $self->ask("SAVEPOINT a; SELECT outcome FROM idem_accept_id('calls', '$message');
			INSERT INTO inbox VALUES ('$message', 'undone'); ROLLBACK TO a;");
	}

	sub call
	{
		my ($self, $message) = @_;
		my $outcome = $self->ask("SELECT outcome FROM idem_accept_id('calls', '$message', result => '1');") // return;
		return $outcome if $outcome eq 'duplicate';
		$self->ask("INSERT INTO effects VALUES ('$message', '$self->{number}');") // return;
		return $outcome;
	}

	sub insert
	{
		my ($self, $message) = @_;
		my $stored = $self->ask("WITH i AS (INSERT INTO inbox VALUES ('$message', '$self->{number}'),
			('$message', 'twice') RETURNING 1) SELECT count(*) FROM i;") // return;
		return $stored ? 'accepted' : 'duplicate';
	}

	sub turn
	{
		my ($self, $message) = @_;
		my $level = one_of('READ COMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE');
		my ($called, $inserted, $committed);
		if (defined $self->ask("BEGIN ISOLATION LEVEL $level;")
			&& (!chance(10) || defined $self->detour($message))
			&& defined($called = $self->call($message))
			&& defined($inserted = $self->insert($message)))
		{
			pause(0.01);
			$committed = $self->ask('COMMIT;') unless chance(20);
		}
		return $self->roll_back unless defined $committed;
		$self->{say}->('outcome', "$called $inserted");
		return 'delivered';
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

my @said = run_clients($clients, sub { Client->new($node, @_)->settle_all($rounds, $messages) }, \&kill_somebody);
$killer->close;

my $tally = tally(@said);
my %outcomes = %{ $tally->{outcome} };
my %errors = %{ $tally->{error} };
note("outcomes: @{[ %outcomes ]}; errors: @{[ %errors ]}; kills: $kills");

my $all = $messages * $rounds;
is("@{ $tally->{died} }", '', 'no client gave up');
is(scalar(grep { $_->[0] eq 'result' } @said), $clients * $all, 'each delivered every message');
is(join(' ', sort grep { !$expected_error{$_} } keys %errors), '', 'no error but the expected ones');
cmp_ok($errors{$_} // 0, '>', 0, "$_ was among them") for '40001', '57P01';
is(join(' ', sort grep { $_ ne 'accepted accepted' && $_ ne 'duplicate duplicate' } keys %outcomes),
	'', 'both ways always agree');
# A session that is killed while it commits is not told.
cmp_ok($outcomes{'accepted accepted'}, '<=', $all, 'nobody is told twice that a message is new');
for my $table ('effects', 'inbox')
{
	is( $node->safe_psql('postgres', "SELECT count(*), count(DISTINCT message) FROM $table"),
		"$all|$all", "each message is in $table exactly once");
}
is( $node->safe_psql('postgres', "SELECT count(*) FROM effects AS e JOIN inbox AS i USING (message) WHERE e.by = i.by"),
	$all, 'by the same transaction');

done_testing();
