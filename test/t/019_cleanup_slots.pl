# Failures, and servers without a slot for a worker: few words in the log, longer and longer delays, nothing leaked,
# and all well again when the cause is gone.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;
use IdemTestCleanup;

sub count_log
{
	my ($node, $position, $pattern) = @_;
	my @found = log_since($node, $position) =~ /$pattern/g;
	return scalar @found;
}

my $no_slot = qr/WARNING:  no free slot for a cleanup worker of pg_idem/;

# Only the launcher fits.
subtest 'no slot at all' => sub {
	my $node = cleanup_node('full', max_worker_processes => 1, max_logical_replication_workers => 0);
	my $position = 0;
	add_items($node, 10);
	until_logged($node, $position, $no_slot);
	for (1 .. 100)
	{
		$node->safe_psql('postgres', 'SELECT idem_cleanup_now()') if $_ % 20 == 0;
		kill 'HUP', launcher($node) if $_ % 10 == 0;
	}
	is(items($node), 10, 'nothing is cleaned up');
	is(count_log($node, $position, $no_slot), 1, 'the log says it once');
	like(log_since($node, $position), qr/HINT:  Increase max_worker_processes/, 'and what to do');
	is(count_log($node, $position, qr/cleanup of database/), 0, 'no database is blamed');
	$node->append_conf('postgresql.conf', 'max_worker_processes = 8');
	$node->restart;
	until_sql($node, 'postgres', 'SELECT count(*) FROM items', 0);
	$node->stop;
};

# The launcher fits and one worker, whose slot somebody else has for a while.
subtest 'no slot for a while' => sub {
	my $node = cleanup_node('crowded', max_worker_processes => 2, max_logical_replication_workers => 0);
	$node->safe_psql('postgres', 'CREATE DATABASE other');
	$node->safe_psql('other', 'CREATE EXTENSION pg_idem');
	configure($node, 'idem.cleanup_batch' => 1, 'idem.cleanup_rows_per_second' => 5);
	until_sql($node, 'other', 'SHOW idem.cleanup_rows_per_second', 5);
	my $position = log_since($node);
	add_items($node, 15, 'other');
	wait_for(sub { workers($node, 'other') }, 'a worker');
	add_items($node, 1);
	$node->safe_psql('postgres', 'SELECT idem_cleanup_now()');
	until_logged($node, $position, $no_slot);
	until_sql($node, 'postgres', 'SELECT count(*) FROM items', 0);
	until_sql($node, 'other', 'SELECT count(*) FROM items', 0);
	until_logged($node, $position, qr/LOG:  cleanup workers of pg_idem find free slots again/);
	is(count_log($node, $position, $no_slot), count_log($node, $position, qr/find free slots again/),
		'what begins in the log ends there');
	$node->stop;
};

my $node = cleanup_node('failing', max_worker_processes => 8, max_logical_replication_workers => 0);
my $rounds = 100;

# All slots that are free, counted by taking them.
sub slots
{
	return $node->safe_psql('postgres', <<'SQL');
SET max_parallel_workers_per_gather = 8;
SET max_parallel_workers = 8;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
CREATE TEMP TABLE plan (line text);
CREATE FUNCTION pg_temp.launched() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS off, TIMING off) SELECT count(*) FROM wide' LOOP
		IF line ~ 'Workers Launched' THEN
			RETURN substring(line FROM '[0-9]+')::int;
		END IF;
	END LOOP;
END $$;
SELECT pg_temp.launched();
SQL
}

subtest 'a table that fails' => sub {
	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE wide AS SELECT i FROM generate_series(1, 100000) AS i;
ALTER TABLE wide SET (parallel_workers = 8);
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'never'; END $$;
SQL
	no_worker($node);
	is(slots(), 7, 'seven slots are free');
	my $position = log_since($node);
	add_items($node, 0);
	$node->safe_psql('postgres', <<'SQL');
CREATE TRIGGER refuse BEFORE DELETE ON items FOR EACH STATEMENT EXECUTE FUNCTION refuse();
INSERT INTO items (expires) SELECT now() FROM generate_series(1, 20);
SQL
	my $session = IdemTest::Session->new($node);
	my @delays;
	for my $round (1 .. $rounds)
	{
		my $errors = $session->query("SELECT errors FROM idem_stat_cleanup WHERE relation = 'items'::regclass;");
		$session->query('SELECT idem_cleanup_now();');
		wait_for(
			sub {
				$session->query("SELECT errors > $errors AND state = 'failing'
					FROM idem_stat_cleanup WHERE relation = 'items'::regclass;") eq 't';
			},
			"failure $round");
		push @delays, $session->query(
			"SELECT extract(epoch FROM next_run_at - finished_at)::int
			FROM idem_stat_cleanup WHERE relation = 'items'::regclass;");
	}
	no_worker($node);
	is(slots(), 7, 'no slot is lost');
	is(count_log($node, $position, qr/WARNING:  cleanup of table public\.items failed: never/), 1, 'one warning');
	is(count_log($node, $position, qr/works again/), 0, 'and no false hope');
	my @growing = grep { $delays[$_] > $delays[ $_ - 1 ] } 1 .. 8;
	is("@growing", '1 2 3 4 5 6 7 8', "the delay grows: @delays[0 .. 9]");
	cmp_ok($delays[-1], '<=', 3600, 'up to an hour');
	cmp_ok($delays[-1], '>', 1800, 'and to nothing less');
	is(status($node, 'last_error, rows'), 'never|0', 'the view says why');
	$node->safe_psql('postgres', 'DROP TRIGGER refuse ON items; SELECT idem_cleanup_now()');
	until_sql($node, 'postgres', 'SELECT count(*) FROM items', 0);
	until_logged($node, $position, qr/LOG:  cleanup of table public\.items works again after \d+ failures?/);
	until_sql($node, 'postgres', "SELECT state FROM idem_stat_cleanup WHERE relation = 'items'::regclass", 'waiting');
	cmp_ok(status($node, 'extract(epoch FROM next_run_at - finished_at)::int'), '<=', 10, 'the delays are forgotten');
	$session->close;
};

subtest 'a database that fails' => sub {
	my $position = log_since($node);
	my $session = IdemTest::Session->new($node);
	# A month of the archive is too old, and cannot be dropped.
	$session->query(<<'SQL');
CREATE TABLE idem_archive_2000_01 PARTITION OF idem_archive
	FOR VALUES FROM ('2000-01-01 00:00+00') TO ('2000-02-01 00:00+00');
CREATE VIEW watched AS SELECT key FROM idem_archive_2000_01;
SQL
	configure($node, 'idem.archive_retention' => '1d');
	until_sql($node, 'postgres', 'SHOW idem.archive_retention', '1d');
	my $delay = 0;
	for my $round (1 .. 4)
	{
		$session->query('SELECT idem_cleanup_now();');
		wait_for(
			sub {
				my $now = $session->query("SELECT greatest(extract(epoch FROM next_run_at - now()), 0)::int
					FROM idem_stat_cleanup WHERE relation = 'items'::regclass AND state = 'failing';");
				$delay = $now if $now ne '' && $now > $delay && $now >= 2**$round - 1;
				$now ne '' && $delay >= 2**$round - 1;
			},
			"failure $round");
	}
	no_worker($node);
	is(status($node, 'state, last_error IS NOT NULL'), 'failing|t', 'the view says so of every table');
	is(count_log($node, $position, qr/WARNING:  cleanup of database "postgres" failed: /), 1, 'one warning');
	is(count_log($node, $position, qr/works again/), 0, 'and no false hope');
	$session->query(<<'SQL');
DROP VIEW watched;
INSERT INTO items (expires) VALUES (now());
SELECT idem_cleanup_now();
SQL
	until_sql($node, 'postgres', 'SELECT count(*) FROM items', 0);
	until_logged($node, $position, qr/LOG:  cleanup of database "postgres" works again after \d+ failures?/);
	until_sql($node, 'postgres', "SELECT state FROM idem_stat_cleanup WHERE relation = 'items'::regclass", 'waiting');
	is($session->query("SELECT to_regclass('idem_archive_2000_01');"), '', 'the old month is gone');
	$session->close;
};

subtest 'workers that are ended' => sub {
	my $position = log_since($node);
	no_worker($node);
	configure($node, 'idem.cleanup_batch' => 1, 'idem.cleanup_rows_per_second' => 1);
	until_sql($node, 'postgres', 'SHOW idem.cleanup_rows_per_second', 1);
	fill_items($node, 10_000);
	my $session = IdemTest::Session->new($node);
	my %ended;
	for my $round (1 .. $rounds)
	{
		$session->query('SELECT idem_cleanup_now();');
		my $pid;
		wait_for(
			sub {
				$pid = $session->query("SELECT pid FROM pg_stat_activity WHERE backend_type = 'pg_idem cleanup';");
				$pid ne '' && !$ended{$pid};
			},
			"worker $round");
		$ended{$pid} = 1;
		$session->query("SELECT pg_terminate_backend($pid);");
	}
	until_sql($node, 'postgres', "SELECT state FROM idem_stat_cleanup WHERE relation = 'items'::regclass", 'failing');
	is(slots(), 7, 'no slot is lost');
	is(count_log($node, $position, qr/WARNING:  cleanup of database "postgres" failed: /), 1, 'one warning');
	is(count_log($node, $position, qr/works again/), 0, 'and no false hope');
	configure($node, 'idem.cleanup_batch' => 1000, 'idem.cleanup_rows_per_second' => 0);
	until_sql($node, 'postgres', 'SHOW idem.cleanup_rows_per_second', 0);
	$session->query('SELECT idem_cleanup_now();');
	until_sql($node, 'postgres', 'SELECT count(*) FROM items', 0);
	until_logged($node, $position, qr/LOG:  cleanup of database "postgres" works again after $rounds failures/);
	$session->close;
};

$node->stop;
done_testing();
