# An old snapshot keeps deleted rows and their index entries from being cleared away. A batch must not read what the
# batches before it have deleted, or each would cost more than the last. And the server has to hear of the deletions, so
# that it clears away after them once it can.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes 'time';
use IdemTest;
use IdemTestCleanup;

# One visit at a time, when asked for.
my $node = cleanup_node('snapshot', 'idem.cleanup_naptime' => '1h', 'idem.cleanup_batch' => 100, autovacuum => 'off');
my $rows = 20000;

my %fill = (
	idem_records => "SELECT FROM generate_series(1, $rows) AS i,
		idem_begin('key ' || i, lease => '1 ms', retain => '1 ms')",
	# All rows expire at the same moment.
	days => "INSERT INTO days SELECT i, current_date - 2 FROM generate_series(1, $rows) AS i",
	# With a trigger, rows are deleted in another way.
	watched => "INSERT INTO watched
		SELECT i, now() - interval '1 day' + i * interval '1 ms' FROM generate_series(1, $rows) AS i");

sub run { my ($sql) = @_; return $node->safe_psql('postgres', $sql); }

run(<<'SQL');
CREATE TABLE days (id integer, at date);
CREATE INDEX ON days (at);
CREATE TABLE watched (id integer, at timestamptz);
CREATE INDEX ON watched (at);
CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN OLD; END $$;
CREATE TRIGGER watch BEFORE DELETE ON watched FOR EACH ROW EXECUTE FUNCTION watch();
SELECT idem_expire_attach(t, 'at', '1 hour') FROM unnest('{days, watched}'::regclass[]) AS t;
SQL

my $observer = IdemTest::Session->new($node);

# Buffers that were read of a table and its indexes.
sub buffers
{
	my ($table) = @_;
	return $observer->query("SELECT heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit
		FROM pg_statio_user_tables WHERE relid = '$table'::regclass;");
}

sub deleted
{
	my ($table) = @_;
	return $observer->query("SELECT n_tup_del FROM pg_stat_user_tables WHERE relid = '$table'::regclass;");
}

# What sessions did is counted some time after they did it. Returns the count when it has not moved for a while.
sub settled
{
	my ($table) = @_;
	my ($count, $since) = (-1, 0);
	wait_for(
		sub {
			my $now = buffers($table);
			($count, $since) = ($now, time) if $now != $count;
			return time - $since > 0.7;
		},
		'counters');
	return $count;
}

# Buffers for one visit that deletes all rows of the table in as many batches as it takes.
sub cost
{
	my ($table) = @_;
	run("SELECT idem_cleanup_pause(); TRUNCATE $table");
	run($fill{$table});
	run("VACUUM ANALYZE $table");
	my $buffers = settled($table);
	my $before = deleted($table);
	run('SELECT idem_cleanup_resume()');
	wait_for(sub { deleted($table) == $before + $rows }, "deletions in $table");
	return settled($table) - $buffers;
}

my %alone = map { $_ => cost($_) } sort keys %fill;
my $batches = run(q{SELECT batches FROM idem_stat_cleanup WHERE relation <> 'idem_producers'::regclass ORDER BY relation::text});
is($batches, join("\n", (200) x 3), 'each table takes two hundred batches');

my $reader = IdemTest::Session->new($node);
$reader->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_am;');
for my $table (sort keys %fill)
{
	my $cost = cost($table);
	my $ratio = $cost / $alone{$table};
	note("$table: $cost buffers with an old snapshot, $alone{$table} without");
	cmp_ok($ratio, '<=', 1.5, "$table: a batch reads about as many buffers with an old snapshot as without");
}
$reader->query('COMMIT;');
$reader->close;

is(run('SELECT count(*) FROM pg_stat_user_tables WHERE n_dead_tup >= 10000 AND autovacuum_count = 0'), 3,
	'the server knows of the dead rows');
run($_) for "ALTER SYSTEM SET autovacuum_naptime = '1s'", 'ALTER SYSTEM SET autovacuum = on', 'SELECT pg_reload_conf()';
wait_until($node, '(SELECT count(*) = 3 FROM pg_stat_user_tables WHERE autovacuum_count > 0 AND n_dead_tup = 0)',
	'autovacuum');
pass('and clears them away');
$observer->close;

done_testing();
