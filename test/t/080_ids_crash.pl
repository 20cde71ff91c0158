# The server dies while ids are handed out: none that anybody saw is given again, and they go on growing. Everywhere
# the ids are ahead of the clock, because otherwise the time that a restart takes would hide what was forgotten.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;
use IdemTestLoad;

use constant { CLIENTS => 4, CRASHES => 8 };

my $node = idem_node(
	'crash',
	'idem.node_id' => 3,
	'idem.max_clock_back' => '20 d',
	# Nobody but a commit brings the log to disk.
	wal_writer_delay => '10 s',
	restart_after_crash => 'on');

# Ids far ahead of the clock, in the database.
sub run_ahead
{
	my ($database) = @_;
	$node->safe_psql($database, "SELECT setval('idem_snowflake_seq', idem_snowflake_floor(clock_timestamp() + '10 d'))");
	return;
}

sub draw
{
	my ($database) = @_;
	return $node->safe_psql($database // 'postgres', 'SELECT idem_snowflake()');
}

sub crash
{
	$node->stop('immediate');
	$node->start;
	return;
}

run_ahead('postgres');

# One after the other, with and without a checkpoint before and after.
my $last = draw();
for my $what ('', 'CHECKPOINT', 'SELECT pg_switch_wal()')
{
	$node->safe_psql('postgres', $what) if $what;
	my $before = draw();
	$node->safe_psql('postgres', $what) if $what;
	my $after = draw();
	crash();
	my $next = draw();
	ok($last < $before && $before < $after && $after < $next, "ids grow over a crash; before it: '$what'");
	cmp_ok($next - $after, '<', 129 << 22, 'and skip no more than what was logged ahead');
	$last = $next;
}

# A batch is logged to its end.
my $end = $node->safe_psql('postgres', 'SELECT max(id) FROM idem_snowflake_batch(3000000) AS id');
crash();
$last = draw();
cmp_ok($last, '>', $end, 'all of a batch is known after a crash');

# The log is written by a session that has not committed; another one hands an id to its client, and writes nothing.
sub overtake
{
	my ($settings) = @_;
	crash();    # what was logged ahead ends here
	my $writer = IdemTest::Session->new($node);
	my $reader = IdemTest::Session->new($node);
	$reader->query("$settings SELECT 1;");
	$writer->query('BEGIN; SELECT idem_snowflake();');
	my $seen = $reader->query('SELECT idem_snowflake();');
	$node->stop('immediate');
	$_->close for $writer, $reader;
	$node->start;
	return $seen;
}
my $seen = overtake('');
cmp_ok(draw(), '>', $seen, 'an id that only a reader saw is not given again');
$seen = overtake("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE;");
cmp_ok(draw(), '>', $seen, 'at any isolation level');

sub client_backend
{
	my ($code, $pid) = $node->psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() LIMIT 1");
	return $pid;
}

# Clients that remember what they saw, servers that die under them. One of the clients writes its ids down.
$node->safe_psql('postgres', 'CREATE TABLE kept (id bigint PRIMARY KEY DEFAULT idem_snowflake())');
my $crashes = 0;
my $done = $node->basedir . '/done';
my @said = run_clients(
	CLIENTS,
	sub {
		my ($number, $say) = @_;
		until (-e $done)
		{
			my $session = IdemTest::Session->new($node);
			while (!-e $done)
			{
				my $answer = $session->query(
					$number == 1 ? 'INSERT INTO kept DEFAULT VALUES RETURNING id;'
					: $number == 2 ? 'SELECT max(id) FROM idem_snowflake_batch(5000) AS id;'
					: 'SELECT idem_snowflake();');
				last unless defined $answer && $answer =~ /^\d+$/;
				$say->($number, $answer);
			}
			$session->close;
			pause(0.05);
		}
	},
	sub {
		return if -e $done;
		wait_until($node, 'NOT pg_is_in_recovery()', 'recovery');
		pause(0.3);
		$node->psql('postgres', 'CHECKPOINT') if chance(50);
		my $position = log_since($node);
		my $victim = client_backend() or return;
		kill 'KILL', $victim;
		wait_for(sub { log_since($node, $position) =~ /all server processes terminated; reinitializing/ }, 'crash');
		$crashes++;
		if ($crashes >= CRASHES)
		{
			open my $file, '>', $done or die $!;
			close $file;
		}
	});

wait_until($node, 'NOT pg_is_in_recovery()', 'recovery');
is($crashes, CRASHES, 'the server was killed again and again');
is(scalar(grep { $_->[0] eq 'died' } @said), 0, 'all clients went on to the end');
my (%count, %greatest);
my $decreasing = 0;
for (@said)
{
	my ($number, $id) = @$_;
	$count{$id}++;
	$decreasing++ if $id <= ($greatest{$number} // 0);
	$greatest{$number} = $id;
}
cmp_ok(scalar(@said), '>', 100, 'many ids were seen: ' . scalar(@said));
is(scalar(grep { $_ > 1 } values %count), 0, 'none of them twice');
is($decreasing, 0, 'each client saw them grow');
my ($greatest) = sort { $b <=> $a } values %greatest;
cmp_ok(draw(), '>', $greatest, 'and the next is greater than all');
my ($kept) = $node->safe_psql('postgres', 'SELECT count(*) FROM kept');
cmp_ok($kept, '>=', scalar(grep { $_->[0] == 1 } @said), 'every id that was said to be kept is');

# A copied page says how far the log of its original went, which is nothing to the copy.
run_ahead('postgres');
draw();
$node->safe_psql('postgres', 'CREATE DATABASE copied TEMPLATE template0');
$node->safe_psql('copied', 'CREATE EXTENSION pg_idem');
run_ahead('copied');
draw('copied');
$node->safe_psql('postgres', 'CREATE DATABASE copy TEMPLATE copied');
$seen = draw('copy');
crash();
cmp_ok(draw('copy'), '>', $seen, 'a copied database repeats no id of its own');

SKIP:
{
	skip 'sequences cannot be made unlogged before 15', 1
	  if $node->safe_psql('postgres', 'SHOW server_version_num') < 150000;
	draw();
	$node->safe_psql('postgres', 'ALTER SEQUENCE idem_snowflake_seq SET UNLOGGED');
	$node->safe_psql('postgres', 'ALTER SEQUENCE idem_snowflake_seq SET LOGGED');
	$seen = draw();
	crash();
	cmp_ok(draw(), '>', $seen, 'a sequence that was made logged repeats none');
}

# With as little log as there can be, a sequence of the same transaction is not logged at all.
$node->append_conf('postgresql.conf', "wal_level = minimal\nmax_wal_senders = 0\nwal_skip_threshold = '2MB'");
$node->restart;
$node->safe_psql('postgres', <<'SQL');
BEGIN;
SELECT idem_snowflake_create('fresh');
SELECT setval('fresh', idem_snowflake_floor(clock_timestamp() + '10 d', 'fresh'));
SELECT idem_snowflake('fresh');
COMMIT;
SQL
my $fresh = $node->safe_psql('postgres', "SELECT idem_snowflake('fresh')");
crash();
cmp_ok($node->safe_psql('postgres', "SELECT idem_snowflake('fresh')"), '>', $fresh, 'a fresh one repeats none with wal_level = minimal');

$node->stop;
done_testing();
