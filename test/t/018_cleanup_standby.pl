# A standby does not clean up; once promoted, it does, without a restart.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;
use IdemTestCleanup;

my $primary = cleanup_node('primary');
add_items($primary, 1);
until_sql($primary, 'postgres', 'SELECT count(*) FROM items', 0);
# Rows for later: cleanup stops here before they are there.
$primary->safe_psql('postgres', 'SELECT idem_cleanup_pause()');
no_worker($primary);
fill_items($primary, 10);
$primary->safe_psql('postgres', "SELECT idem_begin('done', retain => '1 us'), idem_finish('done', '1')");

$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));

is($standby->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'pg\\_idem%'"),
	0, 'a standby has no launcher');
is($standby->safe_psql('postgres', "SELECT string_agg(DISTINCT state, ' ') FROM idem_stat_cleanup"),
	'standby', 'the view says why');
is(status($standby, 'rows, errors, last_error, next_run_at, oldest_expired_age IS NOT NULL, backlog_estimate > 0'),
	'0|0|||t|t', 'and what there would be to do');

for my $call (
	'idem_cleanup_now()', 'idem_cleanup_pause()', 'idem_cleanup_resume()', 'idem_purge()', 'idem_expire_run()',
	"idem_expire_attach('items', 'expires', '1 day')", "idem_expire_detach('items')")
{
	my $session = IdemTest::Session->new($standby);
	is($session->query("SELECT $call;"), 'ERROR:  25006', "$call is refused");
	$session->close;
}

$primary->stop;
$standby->promote;
launcher($standby);
pass('promotion starts the launcher');
is($standby->safe_psql('postgres', 'SELECT count(*) FROM items'), 10, 'the pause was replicated');
is($standby->safe_psql('postgres', 'SELECT idem_cleanup_resume()'), 't', 'and is ended');
until_sql($standby, 'postgres', 'SELECT count(*) FROM items', 0);
until_sql($standby, 'postgres', 'SELECT count(*) FROM idem_records', 0);
until_sql($standby, 'postgres', "SELECT state FROM idem_stat_cleanup WHERE relation = 'items'::regclass", 'waiting');

$standby->stop;
done_testing();
