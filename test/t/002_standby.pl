# A standby answers reads and refuses writes; promoted, it takes over with tokens that go on growing.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;

my $primary = idem_node('primary');
$primary->safe_psql('postgres',
	"SELECT FROM idem_begin('done'); SELECT idem_finish('done', '{\"id\": 1}', code => 201);");
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

my $last = $primary->safe_psql('postgres', "SELECT token FROM idem_begin('open', lease => '1 hour')");
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));

my $session = IdemTest::Session->new($standby);
my %writer = (
	begin => "FROM idem_begin('new')",
	'begin of a finished key' => "FROM idem_begin('done')",
	execute => "FROM idem_execute('new', 'SELECT 1')",
	finish => "idem_finish('open', token => $last)",
	fail => "idem_fail('open', token => $last)",
	release => "idem_release('open', token => $last)",
	extend => "idem_extend('open', token => $last)",
	checkpoint => "idem_checkpoint('open', 'paid', token => $last)",
	resolve => "idem_resolve('open', 'retry')",
	forget => "idem_forget('done')",
	purge => 'idem_purge()',
	scope_set => "idem_scope_set('default', retain => '1 h')",
	scope_reset => "idem_scope_reset('default')",
	grant => "idem_grant('pg_monitor')",
	revoke => "idem_revoke('pg_monitor')");
for my $name (sort keys %writer)
{
	is($session->query("SELECT $writer{$name};"), 'ERROR:  25006', "$name is refused on a standby");
}
is($session->query("SELECT status, code, result FROM idem_get('done');"), 'finished|201|{"id": 1}',
	'idem_get reads on a standby');
is($session->query("SELECT token FROM idem_get('open');"), $last, 'also a live claim');
is($session->query("SELECT idem_key('a', 'b'), idem_child_key('a', 'b');"), 'a:b|a/b', 'keys are made there');
is( $session->query("SELECT idem_fingerprint('{\"a\": 1, \"b\": 2}') = idem_fingerprint('{\"b\": 2.0, \"a\": 1}');"),
	't', 'and fingerprints');

$primary->stop;
$standby->promote;
is($session->query("SELECT outcome, result FROM idem_begin('done');"), 'replayed|{"id": 1}',
	'the promoted server replays, in a session from before');
is($session->query("SELECT outcome, attempt FROM idem_begin('open');"), 'in_progress|1', 'keeps live claims');
is($session->query("SELECT outcome, token > $last FROM idem_begin('new');"), 'started|t',
	'and its tokens are newer than those of the old primary');
is($session->query("SELECT idem_finish('open', '2', token => $last);"), 'finished',
	'the owner of a claim finishes it on the new primary');
$session->close;

done_testing();
