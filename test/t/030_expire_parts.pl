# Within one table, and among tables that share a visit: what is wrong in one part, or slow in one table, keeps no other
# rows waiting.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;
use IdemTestCleanup;

my $node = cleanup_node('parts');

# Expired rows with the ids 1 to $rows; row 1 expired first.
sub expired
{
	my ($rows) = @_;
	return "SELECT i, now() - interval '1 day' + i * interval '1 ms' FROM generate_series(1, $rows) AS i";
}

sub run { my ($sql) = @_; return $node->safe_psql('postgres', $sql); }

run('SELECT idem_cleanup_pause()');

run(<<"SQL");
CREATE TABLE parted (id integer, at timestamptz) PARTITION BY LIST ((id % 2));
CREATE TABLE even PARTITION OF parted FOR VALUES IN (0);
CREATE TABLE odd PARTITION OF parted FOR VALUES IN (1);
CREATE INDEX even_at ON even (at);
CREATE INDEX odd_at ON odd (at);
SELECT idem_expire_attach('parted', 'at', '1 hour');
DROP INDEX even_at;
INSERT INTO parted @{[ expired(1000) ]};

CREATE TABLE guarded (id integer, at timestamptz);
CREATE INDEX ON guarded (at);
CREATE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS \$\$
BEGIN
	IF OLD.id = 1 THEN
		RAISE insufficient_privilege USING MESSAGE = 'row 1 is protected';
	END IF;
	RETURN OLD;
END \$\$;
CREATE TRIGGER guard BEFORE DELETE ON guarded FOR EACH ROW EXECUTE FUNCTION guard();
INSERT INTO guarded @{[ expired(500) ]};
SELECT idem_expire_attach('guarded', 'at', '1 hour');

CREATE TABLE empty (id integer, at timestamptz) PARTITION BY LIST (id);
CREATE INDEX ON empty (at);
SELECT idem_expire_attach('empty', 'at', '1 hour');
SELECT count(*) FROM generate_series(1, 100) AS i, idem_begin(i::text, lease => '1 us', retain => '1 us');

CREATE TABLE parent (id integer, at timestamptz);
CREATE INDEX ON parent (at);
INSERT INTO parent @{[ expired(10) ]};
SELECT idem_expire_attach('parent', 'at', '1 hour');
SQL
my $other = IdemTest::Session->new($node);
$other->query('CREATE TEMP TABLE mine () INHERITS (parent);');
$other->query("INSERT INTO mine VALUES (1, 'epoch');");
run('SELECT idem_cleanup_resume()');

wait_until($node, 'NOT EXISTS (SELECT FROM odd)', 'rows of the sound partition');
wait_until($node, "(SELECT state = 'failing' FROM idem_stat_cleanup WHERE relation = 'parted'::regclass)", 'the state');
is(run('SELECT count(*) FROM even'), 500, 'a partition without its index keeps its rows');
like(status($node, 'last_error', 'postgres', 'parted'), qr/CREATE INDEX CONCURRENTLY ON public\.even/, 'with the remedy');
run('CREATE INDEX ON even (at)');
wait_until($node, 'NOT EXISTS (SELECT FROM even)', 'the repaired partition');

wait_until($node, '(SELECT count(*) = 1 FROM guarded)', 'rows that are not protected');
is(run('SELECT id FROM guarded'), 1, 'the oldest row is protected, and alone is left');
like(status($node, 'last_error', 'postgres', 'guarded'), qr/row 1 is protected/, 'as the view says');

wait_until($node, "(SELECT rows = 100 FROM idem_stat_cleanup WHERE relation = 'idem_records'::regclass)", 'the records');
is(status($node, 'rows, errors', 'postgres', 'empty'), '0|0', 'a table without partitions has no part in that');

wait_until($node, 'NOT EXISTS (SELECT FROM ONLY parent)', 'rows of the parent');
is($other->query('SELECT count(*) FROM mine;'), 1, 'a temporary child belongs to its session');
is(status($node, 'errors', 'postgres', 'parent'), 0, 'and is no trouble');
$other->close;

# With a rate that one table alone could use up for minutes.
run('SELECT idem_cleanup_pause()');
configure($node, 'idem.cleanup_rows_per_second' => 200);
until_sql($node, 'postgres', 'SHOW idem.cleanup_rows_per_second', 200);
run(<<"SQL");
CREATE TABLE a_large (id integer, at timestamptz);
CREATE INDEX ON a_large (at);
INSERT INTO a_large @{[ expired(100000) ]};
CREATE TABLE b_small (id integer, at timestamptz);
CREATE INDEX ON b_small (at);
INSERT INTO b_small @{[ expired(500) ]};
SELECT idem_expire_attach('a_large', 'at', '1 hour'), idem_expire_attach('b_small', 'at', '1 hour');
SELECT idem_cleanup_resume();
SQL
wait_until($node, 'NOT EXISTS (SELECT FROM b_small)', 'the small table');
cmp_ok(run('SELECT count(*) FROM a_large'), '>', 90000, 'tables take turns');
$node->stop;

done_testing();
