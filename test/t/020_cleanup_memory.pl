# The launcher's memory does not grow with the number of visits, and neither does the number of processes.
#
# IDEM_CLEANUP_VISITS=10000 dev/test tap 020    makes ten thousand visits; without it, a few hundred.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;
use IdemTestCleanup;

plan skip_all => 'the memory of a process is read from /proc' unless -r "/proc/$$/status";

my $visits = $ENV{IDEM_CLEANUP_VISITS} // 300;

# A leak of a small allocation a visit would show; what the allocator keeps for the next round would not.
my $allowed = 128 + 64 * $visits / 1024;

my $node = cleanup_node('memory', autovacuum => 'off');
add_items($node, 1);

# Whoever looks from outside sees a worker that lives for milliseconds by luck only: each visit counts from inside.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE seen (processes int);
CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO public.seen SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'pg\_idem%';
	RETURN OLD;
END $$;
CREATE TRIGGER see BEFORE DELETE ON items FOR EACH ROW EXECUTE FUNCTION see();
SQL
until_sql($node, 'postgres', 'SELECT count(*) FROM items', 0);
my $launcher = launcher($node);
my $session = IdemTest::Session->new($node);

sub private_memory
{
	my $status = slurp_file("/proc/$launcher/status");
	return $status =~ /^RssAnon:\s*(\d+) kB/m ? $1 : die 'no RssAnon';
}

sub visit
{
	my ($count) = @_;
	for my $round (1 .. $count)
	{
		$session->query('INSERT INTO items (expires) VALUES (now()); SELECT idem_cleanup_now();');
		wait_for(sub { $session->query('SELECT count(*) FROM items;') == 0 }, "visit $round");
	}
	return;
}

visit(50);
my $before = private_memory();
visit($visits);
my $growth = private_memory() - $before;
cmp_ok($growth, '<=', $allowed, "the launcher grew by $growth kB in $visits visits, at most $allowed kB");
is(launcher($node), $launcher, 'it is still the same');
is($node->safe_psql('postgres', 'SELECT DISTINCT processes FROM seen'), 2, 'it never had more than one worker');
is(status($node, 'rows, errors'), $visits + 51 . '|0', 'and each visit had something to do');
no_worker($node);
$session->close;

$node->stop;
done_testing();
