# What locks do not cost: entries in the lock table, memory of the session, errors in the log. And who may hold them: any
# connection that has the token.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;

my $calls = $ENV{IDEM_MEMORY_CALLS} // 100_000;

# A leak of one word a call would show; what the allocator keeps for the next transaction would not.
my $allowed = 512 + 8 * $calls / 1024;

# The smallest lock table that there is.
my $node = idem_node(
	'small',
	max_locks_per_transaction => '10',
	max_connections => '20',
	autovacuum => 'off',
	fsync => 'off',
	synchronous_commit => 'off');

sub private_memory
{
	my ($session) = @_;
	my $status = slurp_file('/proc/' . $session->backend . '/status');
	return $status =~ /^RssAnon:\s*(\d+) kB/m ? $1 : die 'no RssAnon';
}

subtest 'a hundred thousand locks at once' => sub {
	my $session = IdemTest::Session->new($node);
	$session->query('BEGIN;');
	is( $session->query("SELECT count(*) FROM generate_series(1, 100000) AS i, idem_lock('held-' || i, '1 hour') WHERE acquired;"),
		'100000', 'taken in one transaction');
	is( $session->query("SELECT count(*) FROM pg_locks WHERE locktype NOT IN ('relation', 'virtualxid', 'transactionid');"),
		'0', 'no entry of the lock table is theirs while it is open');
	$session->query('COMMIT;');
	is($node->safe_psql('postgres', "SELECT count(*) FROM idem_locks WHERE kind = 'durable'"), '100000', 'all are held');
	is( $node->safe_psql('postgres', 'SELECT count(*) FROM pg_locks WHERE pid <> pg_backend_pid()'),
		'0', 'and the lock table is empty');
	is( $session->query("SELECT count(*) FROM generate_series(1, 100000) AS i, idem_lock('held-' || i, '1 hour') WHERE acquired;"),
		'0', 'nobody else gets any');
	$session->close;
};

subtest 'memory' => sub {
	plan skip_all => 'the memory of a process is read from /proc' unless -r "/proc/$$/status";
	$node->safe_psql('postgres', <<'SQL');
CREATE PROCEDURE work(rounds int) LANGUAGE plpgsql AS $$
DECLARE
	held idem_lock_grant;
BEGIN
	FOR i IN 1 .. rounds LOOP
		held := idem_lock('worked', '1 hour', owner => 'worker', data => '{"round": 1}', delay => '1 s');
		PERFORM idem_lock('worked', '1 hour'), idem_lock_extend('worked', held.token, '2 hours'), idem_fence('worked');
		IF NOT held.acquired OR NOT idem_unlock('worked', held.token, at_least => CASE WHEN i % 2 = 0 THEN interval '1 us' END) THEN
			RAISE 'round % went wrong', i;
		END IF;
		BEGIN
			PERFORM idem_lock_extend('worked', held.token);
			RAISE 'extended';
		EXCEPTION WHEN SQLSTATE 'ID410' THEN NULL;
		END;
		IF i % 100 = 0 THEN
			COMMIT;
		END IF;
	END LOOP;
END $$;
SQL
	my $session = IdemTest::Session->new($node);
	is($session->query('CALL work(1000);'), '', 'warmed up');
	my $before = private_memory($session);
	is($session->query("CALL work($calls / 5);"), '', "$calls calls made");
	my $growth = private_memory($session) - $before;
	cmp_ok($growth, '<=', $allowed, "the session grew by $growth kB, at most $allowed kB");
	$session->close;
};

# A wait of half an hour would look 36,000 times; this one looks a hundred times, and each look may leave a byte or so.
subtest 'memory while waiting' => sub {
	plan skip_all => 'the memory of a process is read from /proc' unless -r "/proc/$$/status";
	$node->safe_psql('postgres', "SELECT FROM idem_lock('awaited', '1 hour', data => to_jsonb(repeat('x', 1000)))");
	my $session = IdemTest::Session->new($node);
	is($session->query("SELECT acquired FROM idem_lock('awaited', '1 hour', wait => '500 ms');"), 'f', 'warmed up');
	my $before = private_memory($session);
	is($session->query("SELECT acquired FROM idem_lock('awaited', '1 hour', wait => '5 s');"), 'f', 'waited in vain');
	my $growth = private_memory($session) - $before;
	cmp_ok($growth, '<=', 64, "the session grew by $growth kB, at most 64 kB");
	$session->close;
};

# A pooler may give every transaction another connection.
subtest 'connections that change' => sub {
	my ($one, $two, $three) = map { IdemTest::Session->new($node) } 1 .. 3;
	my $token = $one->query("SELECT token FROM idem_lock('pooled', '1 min');");
	is($two->query("SELECT idem_lock_extend('pooled', $token, '1 hour') > clock_timestamp() + interval '50 min';"),
		't', 'another connection prolongs the lock');
	is($three->query("BEGIN; SELECT idem_fence('pooled', $token) IS NULL; COMMIT;"), 'f', 'a third one presents its token');
	is($two->query("SELECT idem_unlock('pooled');"), 'ERROR:  ID410', 'without the token it is nobody there');
	is($two->query("SELECT idem_unlock('pooled', $token);"), 't', 'with it the lock is given back');
	is($one->query("SELECT idem_unlock('pooled', $token);"), 'f', 'once');
	is($one->query("SELECT idem_lock_extend('pooled', $token);"), 'ERROR:  ID410', 'after which nothing prolongs it');
	$one->query('SELECT 1; DISCARD ALL;');
	is($three->query("SELECT acquired FROM idem_lock('pooled', '1 hour');"), 't', 'and anybody may have it');
	is( $node->safe_psql('postgres', 'SELECT count(*) FROM pg_locks WHERE pid <> pg_backend_pid()'),
		'0', 'no session keeps anything');
	$_->close for $one, $two, $three;
};

subtest 'the log' => sub {
	my $position = log_since($node);
	my ($holder, $other) = map { IdemTest::Session->new($node) } 1 .. 2;
	$holder->query("SELECT FROM idem_lock('live', '1 hour'); SELECT FROM idem_lock('slow', '1 ms', delay => '1 hour');");
	$holder->query("SELECT FROM idem_lock('rests', '1 hour'); SELECT idem_unlock('rests', at_least => '1 hour');");
	$holder->query("SELECT FROM idem_lock('guarded', '1 hour');");
	$holder->query("BEGIN; SELECT FROM idem_lock('open', '1 hour'); SELECT idem_fence('guarded'); SELECT idem_unlock('guarded');");
	for my $direct ('on', 'off')
	{
		for my $level ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE')
		{
			$other->query("SET idem.direct_access = $direct; BEGIN ISOLATION LEVEL $level; SELECT 1;");
			my @answers;
			for my $lock ('live', 'slow', 'rests', 'open')
			{
				push @answers, $other->query("SELECT acquired FROM idem_lock('$lock', '1 hour', wait => '$_');") for '0', '5 ms';
			}
			push @answers, $other->query("SELECT idem_unlock('unknown', 1);");
			is("@answers", 'f f f f f f f f f', "direct access $direct, $level: a race is lost without an error");
			is($other->query('SELECT 1; COMMIT;'), '1', 'and the transaction goes on');
		}
	}
	$_->close for $holder, $other;
	my @complaints = grep { /(?:ERROR|FATAL|PANIC|WARNING):/ } split /\n/, log_since($node, $position);
	is(join("\n", @complaints), '', 'nothing of it is in the log');
};

done_testing();
