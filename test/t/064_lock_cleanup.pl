# The cleanup worker takes away what is left of locks that nobody has, and never one that is held, prolonged, shut for a
# delay, or resting. Tokens grow all the same.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;
use IdemTestCleanup;

my $node = cleanup_node('tidy');

# Records of locks that are kept no longer than the lock itself.
$node->safe_psql('postgres', "SELECT idem_scope_set('idem.lock', retain => '1 us')");
my @former = map { $node->safe_psql('postgres', "SELECT token FROM idem_lock('$_', '1 s')") } 'first', 'second';
$node->safe_psql('postgres', <<"SQL");
SELECT idem_unlock('first', $former[0]), idem_unlock('second', $former[1]);
SELECT acquired FROM idem_lock('lost', '1 us');
SELECT acquired FROM idem_lock('held', '1 hour');
SELECT acquired FROM idem_lock('held in pause', '1 ms', delay => '1 hour');
SELECT token FROM idem_lock('prolonged', '1 s') \\gset
SELECT idem_lock_extend('prolonged', :token, '1 hour') > clock_timestamp();
SELECT token FROM idem_lock('prolonged in pause', '1 s', delay => '1 hour') \\gset
SELECT idem_lock_extend('prolonged in pause', :token, '2 s') > clock_timestamp();
SELECT token FROM idem_lock('resting', '1 s') \\gset
SELECT idem_unlock('resting', :token, at_least => '1 hour');
SQL
my $guarded = $node->safe_psql('postgres', "SELECT token FROM idem_lock('guarded', '1 us')");
my $session = IdemTest::Session->new($node);
$session->query("BEGIN; SELECT idem_fence('guarded', $guarded);");
my $names = "string_agg(key, ', ' ORDER BY key) FROM idem_records WHERE scope = 'idem.lock'";
until_sql($node, 'postgres',
	"SELECT NOT EXISTS (SELECT FROM idem_records WHERE key IN ('first', 'second', 'lost'))
	AND NOT EXISTS (SELECT FROM idem_records WHERE key <> 'held in pause' AND key LIKE '%pause' AND lease_expires_at > clock_timestamp())");
# Once more, after the last lease is over.
$node->safe_psql('postgres', "SELECT FROM idem_lock('marker', '1 us')");
until_sql($node, 'postgres', "SELECT NOT EXISTS (SELECT FROM idem_records WHERE key = 'marker')");
is( $node->safe_psql('postgres', "SELECT $names AND key <> 'guarded'"),
	'held, held in pause, prolonged, prolonged in pause, resting', 'what is shut is kept');
is( $node->safe_psql('postgres', "SELECT count(*) FROM (VALUES ('held'), ('held in pause'), ('prolonged'),
		('prolonged in pause'), ('resting'), ('guarded')) AS v(name), idem_lock(name, '1 hour') WHERE acquired"),
	'0', 'and nobody else gets it');
$session->query('COMMIT;');
$session->close;
until_sql($node, 'postgres', "SELECT NOT EXISTS (SELECT FROM idem_records WHERE key = 'guarded')");
pass('a lost lock goes when the last transaction that it guarded is over');

# What is gone was never held, and comes back with a higher token.
is($node->safe_psql('postgres', "SELECT idem_unlock('first', $former[0])"), 'f', 'what is gone is not given back');
is($node->psql('postgres', "SELECT idem_fence('second', $former[1])"), 3, 'nor does its token fence anything');
is( $node->safe_psql('postgres', "SELECT acquired, token > $former[0] AND token > $former[1], after_loss FROM idem_lock('first', '1 hour')"),
	't|t|f', 'tokens grow after the record was removed');

# Taken and removed at the same time, again and again.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE taken (place bigserial, token bigint);
CREATE PROCEDURE churn(rounds int) LANGUAGE plpgsql AS $$
DECLARE
	held idem_lock_grant;
BEGIN
	FOR i IN 1 .. rounds LOOP
		held := idem_lock('churned', '10 s', wait => '1 min');
		IF NOT held.acquired THEN
			RAISE 'not acquired';
		END IF;
		INSERT INTO taken (token) VALUES (held.token);
		COMMIT;
		IF NOT idem_unlock('churned', held.token) THEN
			RAISE 'not given back';
		END IF;
		COMMIT;
	END LOOP;
END $$;
CREATE PROCEDURE remove(rounds int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. rounds LOOP
		PERFORM idem_purge();
		COMMIT;
	END LOOP;
END $$;
SQL
my @churning = map { IdemTest::Session->new($node) } 1 .. 3;
$_->send('CALL churn(300);') for @churning;
my $remover = IdemTest::Session->new($node);
$remover->send('CALL remove(300);');
is($_->receive, '', 'locks are taken while their records are removed') for @churning;
is($remover->receive, '', 'and removed while they are taken');
is( $node->safe_psql('postgres', 'SELECT count(*), count(*) FILTER (WHERE NOT younger)
		FROM (SELECT token > lag(token, 1, 0::bigint) OVER (ORDER BY place) AS younger FROM taken) AS t'),
	'900|0', 'their tokens grow in the order of acquisition');
$_->close for @churning, $remover;

done_testing();
