# The memory of a session does not grow with the number of its calls.
#
# IDEM_MEMORY_CALLS=1000000 dev/test tap 006    makes a million calls; without it, a tenth of that.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;

plan skip_all => 'the memory of a process is read from /proc' unless -r "/proc/$$/status";

my $calls = $ENV{IDEM_MEMORY_CALLS} // 100_000;

# A leak of one word a call would show; what the allocator keeps for the next transaction would not.
my $allowed = 512 + 8 * $calls / 1024;

my $node = idem_node('memory', autovacuum => 'off', fsync => 'off', synchronous_commit => 'off');
$node->safe_psql('postgres', <<'SQL');
SELECT FROM idem_begin('stored', fingerprint => '\x01');
SELECT idem_finish('stored', jsonb_build_object('text', repeat('x', 10000)));
SELECT FROM idem_begin('live', lease => '1 day');
CREATE PROCEDURE refused() LANGUAGE plpgsql AS $$
BEGIN
	PERFORM idem_finish('live', token => -1);
EXCEPTION WHEN SQLSTATE 'ID410' THEN
	NULL;
END $$;
-- Ten calls a round.
CREATE PROCEDURE work(rounds int, name text) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. rounds LOOP
		PERFORM FROM idem_begin(name || i, fingerprint => idem_fingerprint('{"a": [1, 2.0]}'), retain => '1 us');
		PERFORM idem_checkpoint(name || i, 'step', '{"n": 1}');
		PERFORM idem_finish(name || i, '{"text": "result"}');
		PERFORM FROM idem_begin('stored');
		PERFORM FROM idem_begin('stored', fingerprint => '\x02');
		PERFORM FROM idem_begin('live', wait => '0');
		PERFORM FROM idem_execute(idem_key(name, i::text), 'SELECT $1::int AS n', '[1]', retain => '1 us');
		PERFORM FROM idem_get('stored');
		CALL refused();
		IF i % 100 = 0 THEN
			PERFORM idem_purge(1000);
			COMMIT;
		END IF;
	END LOOP;
END $$;
SQL

my $session = IdemTest::Session->new($node);

sub private_memory
{
	my $status = slurp_file('/proc/' . $session->backend . '/status');
	return $status =~ /^RssAnon:\s*(\d+) kB/m ? $1 : die 'no RssAnon';
}

sub work
{
	my ($rounds, $name) = @_;
	return $session->query("CALL work($rounds, '$name');");
}

is(work(1000, 'warm'), '', 'warmed up');
my $before = private_memory();
is(work($calls / 10, 'key'), '', "$calls calls made");
is( $session->query('SELECT last_value >= ' . 2 * $calls / 10 . ' FROM idem_tokens;'),
	't', 'they claimed a new key and executed a statement each round');
my $growth = private_memory() - $before;
cmp_ok($growth, '<=', $allowed, "the session grew by $growth kB, at most $allowed kB");
$session->close;

done_testing();
