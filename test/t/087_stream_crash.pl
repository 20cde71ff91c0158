# What a stream accepted survives the death of a session, of the server process and of the server; what was not committed
# is gone with its effects. Also a standby, its promotion, and a dump.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;

my $node = idem_node('primary', restart_after_crash => 'on', max_prepared_transactions => '5');

sub ask
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

$node->safe_psql('postgres', 'CREATE TABLE effects (n bigint)');
my $id = ask("SELECT producer_id FROM idem_producer('p', 's')");
is(ask("SELECT idem_accept('s', $id, 1, 1, 3, '\\x01', '\"kept\"'); INSERT INTO effects VALUES (1), (2), (3)"),
	'(accepted,1,3,"""kept""",)', 'accepted');

# An open batch dies with its session, and with the server.
for my $how ('session', 'server')
{
	my $session = IdemTest::Session->new($node);
	$session->query("BEGIN; INSERT INTO effects VALUES (4);");
	is($session->query("SELECT outcome FROM idem_accept('s', $id, 1, 4);"), 'accepted', "a batch is open ($how)");
	if ($how eq 'server')
	{
		kill_and_recover($node, $session->backend);
		$session->close;
	}
	else
	{
		$session->close;
		wait_until($node, 'NOT EXISTS (SELECT FROM pg_locks WHERE relation = \'effects\'::regclass)', 'end of the session');
	}
	is(ask('SELECT last_seq FROM idem_producers'), '3', 'the sequence is as committed');
	is(ask('SELECT count(*) FROM effects'), '3', 'and so are the effects');
	is(ask("SELECT idem_accept('s', $id, 1, 1, 3, '\\x01')"), '(duplicate,1,3,"""kept""",t)', 'the repeat is known');
}
$node->stop('immediate');
$node->start;
is(ask("SELECT idem_accept('s', $id, 1, 1, 3)"), '(duplicate,1,3,"""kept""",t)', 'also after the server was killed');
is(ask("SELECT outcome FROM idem_accept('s', $id, 1, 4)"), 'accepted', 'and the next is accepted');

# A prepared transaction holds the producer until it is decided.
ask("BEGIN; SELECT idem_accept('s', $id, 1, 5, result => '5'); PREPARE TRANSACTION 'batch'");
$node->restart;
my $waiting = IdemTest::Session->new($node);
my $pid = $waiting->backend;
$waiting->send("SELECT idem_accept('s', $id, 1, 5);");
wait_until($node, "EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid AND wait_event_type = 'Lock')", 'wait');
ask("COMMIT PREPARED 'batch'");
is($waiting->receive, '(duplicate,5,5,5,t)', 'who waited for a prepared batch gets its result');
$waiting->close;

# A standby.
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
ask("SELECT idem_accept('s', $id, 1, 6)");
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
my $reader = IdemTest::Session->new($standby);
my %writer = (
	producer => "idem_producer('p', 's')",
	'accept of a repeat' => "idem_accept('s', $id, 1, 6)",
	accept => "idem_accept('s', $id, 1, 7)",
	accept_result => "idem_accept_result('s', $id, 1, 6, '1')",
	accept_many => "idem_accept_many('s', $id, 1, '{7}')",
	stream_set => "idem_stream_set('s', 'monotonic')",
	stream_reset => "idem_stream_reset('s')");
for my $name (sort keys %writer)
{
	is($reader->query("SELECT $writer{$name};"), 'ERROR:  25006', "$name is refused on a standby");
}

# A dump, restored into a database whose producer ids begin anew.
my $dump = "$PostgreSQL::Test::Utils::tmp_check/streams.sql";
ask("SELECT idem_stream_set('s', remember => 2, too_old => 'refuse')");
$node->command_ok([ 'pg_dump', '--no-sync', '--file', $dump, '--dbname', $node->connstr('postgres') ], 'dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok(
	[ 'psql', '--no-psqlrc', '--quiet', '--set', 'ON_ERROR_STOP=1', '--file', $dump, '--dbname', $node->connstr('restored') ],
	'restore');
is($node->safe_psql('restored', 'SELECT stream, remember, too_old FROM idem_streams'), 's|2|refuse', 'settings are restored');
is($node->safe_psql('restored', "SELECT idem_accept('s', $id, 1, 5)"), '(duplicate,5,5,5,t)', 'batches are known');
is($node->psql('restored', "SELECT idem_accept('s', $id, 1, 4)"), 3, 'the settings hold');
is($node->safe_psql('restored', "SELECT outcome FROM idem_accept('s', $id, 1, 7)"), 'accepted', 'and it goes on');
is($node->safe_psql('restored', "SELECT producer_id > $id, epoch FROM idem_producer('new', 's')"), 't|1', 'ids do not repeat');

$node->stop;
$standby->promote;
is($reader->query("SELECT idem_accept('s', $id, 1, 6);"), '(duplicate,6,6,,t)', 'the promoted server knows the batches');
is($reader->query("SELECT outcome FROM idem_accept('s', $id, 1, 7);"), 'accepted', 'and accepts the next');
is($reader->query("SELECT epoch, last_seq FROM idem_producer('p', 's');"), '2|7', 'registering again goes on there');
is($reader->query("SELECT producer_id > $id FROM idem_producer('later', 's');"), 't', 'ids do not repeat there either');
$reader->close;
done_testing();
