# The worker takes away producers that nobody has used for as long as their stream retains them, whatever holds up others,
# and says so in idem_stat_cleanup. One that is used stays.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;
use IdemTestCleanup;

my $node = cleanup_node('streams', 'idem.cleanup_batch' => '100');
$node->safe_psql('postgres', "SELECT idem_stream_set('brief', retain => '1 ms')");
my $used = $node->safe_psql('postgres', "SELECT producer_id FROM idem_producer('used', 's')");
$node->safe_psql('postgres', "SELECT count(idem_producer('p' || i, 'brief')) FROM generate_series(1, 1000) AS i");
$node->safe_psql('postgres', 'SELECT idem_cleanup_now()');
until_sql($node, 'postgres', "SELECT NOT EXISTS (SELECT FROM idem_producers WHERE stream = 'brief')");
pass('a thousand idle producers are gone');
is($node->safe_psql('postgres', "SELECT rows >= 1000, batches >= 10, errors FROM idem_stat_cleanup WHERE relation = 'idem_producers'::regclass"),
	't|t|0', 'and counted');
is($node->safe_psql('postgres', "SELECT outcome FROM idem_accept('s', $used, 1, 1)"), 'accepted', 'another stream keeps its own');

# One that is in use is passed over, and holds up no other.
my $session = IdemTest::Session->new($node);
$session->query("SELECT idem_stream_set('held', retain => '1 hour');");
my $held = $session->query("SELECT producer_id FROM idem_producer('held', 'held');");
$session->query("BEGIN; SELECT FROM idem_accept('held', $held, 1, 1);");
$node->safe_psql('postgres', "SELECT idem_producer('other', 'brief')");
$node->safe_psql('postgres', 'SELECT idem_cleanup_now()');
until_sql($node, 'postgres', "SELECT NOT EXISTS (SELECT FROM idem_producers WHERE stream = 'brief')");
is($session->query('COMMIT; SELECT count(*) FROM idem_producers WHERE stream = \'held\';'), '1', 'who is at work stays');
$session->close;

# What has expired is absent also where no worker comes, and says how far it got.
configure($node, 'idem.cleanup' => 'off');
$node->safe_psql('postgres', "SELECT idem_producer('late', 'brief')");
my ($stdout, $stderr);
my $late = $node->safe_psql('postgres', "SELECT producer_id FROM idem_producers WHERE producer = 'late'");
$node->safe_psql('postgres', "UPDATE idem_producers SET last_seq = 41, expires_at = clock_timestamp() WHERE producer = 'late'");
$node->psql('postgres', "SELECT idem_accept('brief', $late, 1, 42)", stdout => \$stdout, stderr => \$stderr,
	extra_params => [ '--set', 'VERBOSITY=verbose' ]);
like($stderr, qr/ID032.*has expired.*last sequence accepted is 41/s, 'an expired producer is told so');
is($node->safe_psql('postgres', "SELECT last_seq FROM idem_producer('late', 'brief')"), '41', 'and comes back where it was');
done_testing();
