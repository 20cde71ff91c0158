# The module may be preloaded. Its settings are then known before the first call, and everything works the same.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;

my $node = idem_node('preload', shared_preload_libraries => 'pg_idem', 'idem.default_lease' => '5min',
	'idem.position_cache_size' => '64kB',
	restart_after_crash => 'on');
my $session = IdemTest::Session->new($node);
is($session->query('SHOW idem.default_lease;'), '5min', 'a setting from the configuration file');
is( $session->query("SELECT outcome, lease_expires_at > clock_timestamp() + '4 min' FROM idem_begin('a');"),
	'started|t', 'counts');
is($session->query("SELECT idem_finish('a', '1'); SELECT outcome FROM idem_begin('a');"), "finished\nreplayed",
	'the functions work');

# What another session noted about the record's place must help, and must not mislead.
my $other = IdemTest::Session->new($node);
is($other->query('SHOW idem.position_cache_size;'), '64kB', 'the shared cache has its size from the file');
is($other->query("SELECT outcome FROM idem_begin('a');"), 'replayed', 'another session finds the record');
$other->query("SELECT idem_begin('filler-' || i) FROM generate_series(1, 5000) AS i; DELETE FROM idem_records WHERE key LIKE 'filler-%';");
$other->query('VACUUM FULL idem_records;');
is($session->query("SELECT outcome FROM idem_begin('a');"), 'replayed', 'also after the table was rewritten');
is($session->query("SELECT outcome FROM idem_begin('filler-5000');"), 'started', 'a place that is gone is not believed');
$other->close;

kill 'KILL', $session->backend;
$session->close;
wait_until($node, "outcome = 'replayed' FROM idem_begin('a')", 'recovery');
pass('also after the server restarted itself');

done_testing();
