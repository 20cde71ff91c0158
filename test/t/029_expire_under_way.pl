# People work on a table, and change their minds about it, while its expired rows are being deleted. They wait for no
# more than the batch under way, and the worker goes on with what is left to do, and with nothing else.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;
use IdemTestCleanup;

my $node = cleanup_node('underway');

# Waits for what the view says of a table.
sub view_says
{
	my ($table, $condition, $what) = @_;
	return wait_until($node, "(SELECT $condition FROM idem_stat_cleanup WHERE relation = '$table'::regclass)", $what);
}

# Each row takes a while, so that there is a batch under way at any moment. The row with id 0 has not expired.
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.0005); RETURN OLD; END $$;
CREATE PROCEDURE make(name text, rows integer, partition text = '') LANGUAGE plpgsql AS $$ BEGIN
	EXECUTE format('CREATE TABLE %I %s', name, CASE partition WHEN '' THEN '(part integer, id integer, at timestamptz)'
		ELSE format('PARTITION OF parts FOR VALUES IN (%s)', partition) END);
	EXECUTE format('INSERT INTO %I SELECT %s, i, CASE i WHEN 0 THEN now() ELSE now() - interval ''1 day'' END
		FROM generate_series(0, %s) AS i', name, coalesce(nullif(partition, ''), '0'), rows);
	EXECUTE format('CREATE INDEX %I ON %I (at)', name || '_at_idx', name);
	EXECUTE format('CREATE TRIGGER dawdle BEFORE DELETE ON %I FOR EACH ROW EXECUTE FUNCTION dawdle()', name);
END $$;
SQL

sub count { my ($table) = @_; return $node->safe_psql('postgres', "SELECT count(*) FROM $table"); }
sub run { my ($sql) = @_; return $node->safe_psql('postgres', $sql); }

# That rows of the table go, also after somebody was in the way.
sub goes_on
{
	my ($table, $what) = @_;
	my $before = status($node, 'rows', 'postgres', $table);
	view_says($table, "rows > $before", "rows of $table go, $what");
	return;
}

# Each statement in a transaction of its own, within less time than all the rows take.
sub during
{
	my ($table, $what, @statements) = @_;
	goes_on($table, "before $what");
	my $errors = '';
	for my $statement (@statements)
	{
		my $error;
		$node->psql('postgres', "SET statement_timeout = '10s'",
			extra_params => [ '--command', $statement ], stderr => \$error);
		$errors .= $error;
	}
	is($errors, '', "$what, while rows are being deleted");
	return;
}

run("CALL make('single', 60000); CALL make('other', 60000)");
run("SELECT idem_expire_attach('single', 'at', '1 hour', 20)");
during('single', 'CREATE INDEX CONCURRENTLY', 'CREATE INDEX CONCURRENTLY single_id_idx ON single (id)');
during('single', 'DROP INDEX CONCURRENTLY', 'DROP INDEX CONCURRENTLY single_id_idx');
during('single', 'REINDEX CONCURRENTLY of the index in use', 'REINDEX INDEX CONCURRENTLY single_at_idx');
during('single', 'another index in its place', 'CREATE INDEX CONCURRENTLY next ON single (at)',
	'DROP INDEX single_at_idx');
during('single', 'ALTER TABLE ADD COLUMN', q{ALTER TABLE single ADD COLUMN note text DEFAULT 'x'});
during('single', 'a new type', 'ALTER TABLE single ALTER COLUMN id TYPE bigint');
during('single', 'VACUUM FULL', 'VACUUM FULL single');
during('single', 'CLUSTER', 'CLUSTER single USING next');
during('single', 'new names', 'ALTER TABLE single RENAME COLUMN at TO since', 'ALTER TABLE single RENAME TO renamed');
during('renamed', 'VACUUM', 'VACUUM renamed');
goes_on('renamed', 'after all this');
is(status($node, 'errors, last_error', 'postgres', 'renamed'), '0|', 'nothing failed');
is(run('SELECT count(*) FROM renamed WHERE id = 0'), '1', 'and no row went that had not expired');

# Whoever changes the rule may rely on it from then on.
run("SELECT idem_expire_attach('other', 'at', '1 hour', 20)");
during('renamed', 'idem_expire_attach', "SELECT idem_expire_attach('renamed', 'since', '1 year', 20)");
my $rows = count('renamed');
goes_on('other', 'meanwhile');
goes_on('other', 'still');
is(count('renamed'), $rows, 'attached again for longer: the other rows stay');
run("SELECT idem_expire_attach('renamed', 'since', '1 hour', 20)");
during('renamed', 'idem_expire_detach', "SELECT idem_expire_detach('renamed')");
$rows = count('renamed');
goes_on('other', 'meanwhile');
goes_on('other', 'still');
is(count('renamed'), $rows, 'detached: the other rows stay');
during('other', 'idem_cleanup_pause', 'SELECT idem_cleanup_pause()');
$rows = count('other');
wait_until($node, "NOT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'pg_idem cleanup')",
	'the worker leaves');
is(count('other'), $rows, 'paused: the other rows stay');
run('SELECT idem_cleanup_resume()');
during('other', 'TRUNCATE', 'TRUNCATE other');
is(count('other'), 0, 'emptied');
run("SELECT idem_expire_detach('other')");

# Partitions come one after the other; the list of them changes meanwhile.
run('CREATE TABLE parts (part integer, id integer, at timestamptz) PARTITION BY LIST (part)');
run("CALL make('part_$_', 1000, '$_')") for 1 .. 6;
run("SELECT idem_expire_attach('parts', 'at', '1 hour', 20)");
during('parts', 'ALTER TABLE DETACH PARTITION', 'ALTER TABLE parts DETACH PARTITION part_3');
run('DROP TABLE part_4');
wait_until($node, '(SELECT count(*) < 900 FROM part_5)', 'the partitions behind');
is(run('SELECT count(*) FROM part_3'), 1001, 'a partition that was detached before its turn keeps its rows');
during('parts', 'ALTER TABLE DETACH PARTITION', 'ALTER TABLE parts DETACH PARTITION part_5');
$rows = count('part_5');
wait_until($node, '(SELECT count(*) = 1 FROM part_6)', 'the last partition');
cmp_ok($rows, '>', 1, 'a partition that was detached in its turn');
is(count('part_5'), $rows, 'keeps the rest');
is(run('SELECT string_agg(part::text, chr(32) ORDER BY part) FROM parts WHERE id = 0'), '1 2 6',
	'rows stay that have not expired');
is(status($node, 'errors, last_error', 'postgres', 'parts'), '0|', 'nothing failed');
unlike(slurp_file($node->logfile), qr/(?:ERROR|WARNING|FATAL|PANIC):/, 'and the log has nothing to say about all this');

done_testing();
