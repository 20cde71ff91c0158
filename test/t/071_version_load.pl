# 64 sessions add to the same counters, each by what it has read: by idem_cas in every mode, and by updates that carry a
# version. None of the additions is lost, and every one of them is a version.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;

use constant { SESSIONS => 64, ADDITIONS => 10, COUNTERS => 4 };

my $node = idem_node('version_load', max_connections => SESSIONS + 20);
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE counter (id int PRIMARY KEY, n bigint NOT NULL DEFAULT 0, version int NOT NULL DEFAULT 1);
CREATE TABLE refusals (code text);
-- Reads, and writes one more, until nobody came in between.
CREATE FUNCTION add_one(which int, statement text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	seen record;
	changed bigint;
BEGIN
	LOOP
		SELECT n, version INTO STRICT seen FROM counter WHERE id = which;
		BEGIN
			EXECUTE statement INTO changed USING which, seen.version, seen.n + 1;
			EXIT WHEN changed IS NOT NULL;
		EXCEPTION WHEN SQLSTATE 'ID010' THEN
			INSERT INTO refusals VALUES (SQLSTATE);
		END;
	END LOOP;
END $$;
SQL

sub check_counters
{
	my ($mode, $how, $statement) = @_;
	$node->safe_psql('postgres', <<"SQL");
TRUNCATE counter;
TRUNCATE refusals;
SELECT idem_version_attach('counter', mode => '$mode');
INSERT INTO counter (id) SELECT generate_series(0, @{[ COUNTERS - 1 ]});
SQL
	my $file = $node->basedir . '/script.sql';
	my $counters = COUNTERS;
	PostgreSQL::Test::Utils::append_to_file($file, <<"SQL");
\\set counter :client_id % $counters
SELECT add_one(:counter, \$s\$$statement\$s\$);
SQL
	$node->command_ok(
		[ 'pgbench', '--no-vacuum', '--client', SESSIONS, '--transactions', ADDITIONS, '--file', $file, 'postgres' ],
		"$mode: $how");
	unlink $file;
	my $each = SESSIONS * ADDITIONS / COUNTERS;
	is($node->safe_psql('postgres', 'SELECT id, n, version - 1 FROM counter ORDER BY id'),
		join("\n", map { "$_|$each|$each" } 0 .. COUNTERS - 1), "$mode: no addition by $how was lost");
	return;
}

my $cas = q{SELECT idem_cas('counter', to_jsonb($1), $2, jsonb_build_object('n', $3))};
check_counters($_, 'idem_cas', $cas) for qw(where expect client);
check_counters('where', 'WHERE', 'UPDATE counter SET n = $3 WHERE id = $1 AND version = $2 RETURNING n');
check_counters('where', 'WHERE and the next version',
	'UPDATE counter SET n = $3, version = $2 + 1 WHERE id = $1 AND version = $2 RETURNING n');
check_counters('expect', 'the version that was read', 'UPDATE counter SET n = $3, version = $2 WHERE id = $1 RETURNING n');
check_counters('client', 'the next version', 'UPDATE counter SET n = $3, version = $2 + 1 WHERE id = $1 RETURNING n');
cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM refusals'), '>', 0, 'sessions came in between');

$node->stop;
done_testing();
