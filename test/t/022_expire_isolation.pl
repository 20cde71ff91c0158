# What is wrong with one attached table is no other table's trouble, and no trouble of those who work with tables.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;
use IdemTestCleanup;

my $node = cleanup_node('isolation');

# Waits for what the view says of a table.
sub view_says
{
	my ($table, $condition, $what) = @_;
	return wait_until($node, "(SELECT $condition FROM idem_stat_cleanup WHERE relation = '$table'::regclass)", $what);
}

sub count { my ($table) = @_; return $node->safe_psql('postgres', "SELECT count(*) FROM $table"); }

sub failures_logged
{
	my ($table) = @_;
	return scalar(() = slurp_file($node->logfile) =~ /WARNING:  cleanup of table public\.$table failed: /g);
}

sub recoveries_logged
{
	my ($table) = @_;
	my $line = qr/LOG:  cleanup of table public\.$table works again after \d+ failures?/;
	return scalar(() = slurp_file($node->logfile) =~ /$line/g);
}

# Attached, with that many expired rows; the one with the smallest id expired first.
sub make_table
{
	my ($table, $rows) = @_;
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE $table (id integer, at timestamptz);
INSERT INTO $table SELECT i, now() - interval '1 day' + i * interval '1 ms' FROM generate_series(1, $rows) AS i;
CREATE INDEX ON $table (at);
SELECT idem_expire_attach('$table', 'at', '1 hour', 500);
SQL
	return;
}

$node->safe_psql('postgres', <<'SQL');
SELECT idem_cleanup_pause();
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'row % is needed', OLD.id; END $$;
SQL
make_table($_, 4000) for qw(unwilling poisoned unindexed locked healthy);
$node->safe_psql('postgres', <<'SQL');
CREATE TRIGGER refuse BEFORE DELETE ON unwilling FOR EACH ROW EXECUTE FUNCTION refuse();
CREATE TRIGGER refuse AFTER DELETE ON poisoned FOR EACH ROW WHEN (OLD.id IN (1, 1999, 4000)) EXECUTE FUNCTION refuse();
DROP INDEX unindexed_at_idx;
SQL
my $locker = IdemTest::Session->new($node);
$locker->query('BEGIN; LOCK TABLE locked;');
$node->safe_psql('postgres', 'SELECT idem_cleanup_resume()');

wait_until($node, 'NOT EXISTS (SELECT FROM healthy)', 'healthy table');
is(status($node, 'rows, errors, last_error', 'postgres', 'healthy'), '4000|0|',
	'a healthy table is cleaned among others that are not');
wait_until($node, '(SELECT count(*) = 3 FROM poisoned)', 'rows without a fault');
is($node->safe_psql('postgres', "SELECT string_agg(id::text, ' ' ORDER BY id) FROM poisoned"), '1 1999 4000',
	'of a table with three rows that cannot go, all the others go');
view_says('poisoned', 'errors >= 3 AND finished_at IS NOT NULL', 'end of the turn');
like(status($node, 'state, rows, last_error', 'postgres', 'poisoned'), qr/^failing\|3997\|row \d+ is needed$/,
	'which the view shows');
view_says('poisoned', 'errors > 3', 'another attempt');

view_says('unwilling', 'errors > 0', 'attempt');
like(status($node, 'state, rows, last_error', 'postgres', 'unwilling'), qr/^failing\|0\|row \d+ is needed$/,
	'no row can go: the view shows that, too');
is(count('unwilling'), 4000, 'and none is lost');
my $errors = status($node, 'errors', 'postgres', 'unwilling');
view_says('unwilling', "errors > $errors", 'another attempt');
is(failures_logged($_), 1, "$_: one message, however often it fails") for qw(unwilling poisoned);

view_says('unindexed', 'errors > 0', 'missing index');
is(status($node, 'state', 'postgres', 'unindexed'), 'failing', 'a table that lost its index fails');
like(status($node, 'last_error', 'postgres', 'unindexed'), qr/CREATE INDEX CONCURRENTLY ON public\.unindexed \(at\);/,
	'with the remedy in the view');

is($locker->query('SELECT count(*) FROM locked;'), '4000', 'a locked table is passed over');
$locker->query('COMMIT;');
wait_until($node, 'NOT EXISTS (SELECT FROM locked)', 'table that was locked');
is(status($node, 'state, errors, rows', 'postgres', 'locked'), 'waiting|0|4000',
	'and cleaned when it is free, which is no failure');
is(failures_logged('locked'), 0, 'and worth no message');

# Once what is wrong is mended, it goes on by itself.
$node->safe_psql('postgres', $_)
  for 'DROP TRIGGER refuse ON unwilling', 'DROP TRIGGER refuse ON poisoned',
  'CREATE INDEX CONCURRENTLY ON public.unindexed (at)', 'SELECT idem_cleanup_now()';
for my $table (qw(unwilling poisoned unindexed))
{
	wait_until($node, "NOT EXISTS (SELECT FROM $table)", "$table mended");
	wait_for(sub { recoveries_logged($table) > 0 }, "message about $table");
	is(recoveries_logged($table), 1, "$table: mended, it works again, and says so once");
	is(status($node, 'state', 'postgres', $table), 'waiting', 'also in the view');
}

$locker->close;

done_testing();
