# Whoever has a lock dies: its session, its server process, the server. The lock stays its own until the lease is over,
# and goes on to the next with a higher token. Also a standby and a dump.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;

my $node = idem_node(
	'crash',
	restart_after_crash => 'on',
	shared_preload_libraries => 'pg_idem',
	'idem.cleanup_naptime' => '1d',
	max_prepared_transactions => '5');

sub ask
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

# Takes a lock in a session of its own, and another one whose lease is over soon. Returns the session and the tokens.
sub held
{
	my ($lock) = @_;
	my $session = IdemTest::Session->new($node);
	my $token = $session->query("SELECT token FROM idem_lock('$lock', '1 hour');");
	return ($session, $token, $session->query("SELECT token FROM idem_lock('$lock, brief', '1 s');"));
}

# The answers of the next taker, once it has the lock.
sub next_holder
{
	my ($lock) = @_;
	return ask("SELECT acquired, after_loss, token FROM idem_lock('$lock', '1 hour', wait => '2 min')");
}

# A session ends: with its transaction, or after its commit.
my ($session, undef, $token) = held('closed');
$session->close;
is(ask("SELECT acquired FROM idem_lock('closed', '1 hour')"), 'f', 'the lock outlives its session');
my ($acquired, $after_loss, $next) = split /\|/, next_holder('closed, brief');
is("$acquired $after_loss", 't t', 'and is lost with its lease');
cmp_ok($next, '>', $token, 'the next holder has a higher token');

$session = IdemTest::Session->new($node);
$session->query("BEGIN; SELECT FROM idem_lock('open', '1 hour');");
is(ask("SELECT acquired FROM idem_lock('open', '1 hour')"), 'f', 'an open transaction has the lock');
ask('SELECT pg_terminate_backend(' . $session->backend . ')');
$session->close;
like(next_holder('open'), qr/^t\|f\|/, 'terminated, it never had it');

# A server process is killed, and with it everything that waits.
($session, undef, $token) = held('killed');
my $uncommitted = IdemTest::Session->new($node);
$uncommitted->query("BEGIN; SELECT FROM idem_lock('killed, uncommitted', '1 hour');");
my @waiters = map { IdemTest::Session->new($node) } 1 .. 3;
$_->send("SELECT acquired FROM idem_lock('killed', '1 hour', wait => NULL);") for @waiters;
wait_until($node,
	"count(*) = 3 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 475", 'three in the line');
kill_and_recover($node, $session->backend);
$session->close;
$_->close for @waiters, $uncommitted;
is(ask("SELECT acquired FROM idem_lock('killed', '1 hour')"), 'f', 'the lock outlives the crash');
is(ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), '0', 'the line does not');
like(next_holder('killed, uncommitted'), qr/^t\|f\|/, 'what was not committed was never held');
($acquired, $after_loss, $next) = split /\|/, next_holder('killed, brief');
is("$acquired $after_loss", 't t', 'the lock is taken when its lease is over');
cmp_ok($next, '>', $token, 'with a higher token');
is($node->psql('postgres', "BEGIN; SELECT idem_fence('killed, brief', $token)"), 3, 'the old one is fenced');

# So is the server.
($session, undef, $token) = held('stopped');
my ($returned, $former) = held('returned');
$returned->query("SELECT idem_unlock('returned');");
$node->stop('immediate');
$_->close for $session, $returned;
$node->start;
is(ask("SELECT acquired FROM idem_lock('stopped', '1 hour')"), 'f', 'the lock outlives the server');
($acquired, $after_loss, $next) = split /\|/, next_holder('stopped, brief');
is("$acquired $after_loss", 't t', 'and goes on when its lease is over');
cmp_ok($next, '>', $token, 'with a higher token');
($acquired, $after_loss, $next) = split /\|/, next_holder('returned');
is("$acquired $after_loss", 't f', 'what was given back before is free');
cmp_ok($next, '>', $former, 'with a higher token, too');

# A prepared transaction has the lock without any session, over a restart, whatever its ttl.
ask("BEGIN; SELECT FROM idem_lock('prepared', '1 ms'); PREPARE TRANSACTION 'lock'");
is(ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), '0', 'a prepared transaction is not in the line');
$node->restart;
is(ask("SELECT acquired FROM idem_lock('prepared', '1 hour')"), 'f', 'it has the lock');
my $waiter = IdemTest::Session->new($node);
$waiter->send("SELECT acquired, after_loss FROM idem_lock('prepared', '1 hour', wait => NULL);");
wait_until($node, "count(*) = 1 FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted", 'somebody waits for it');
ask("ROLLBACK PREPARED 'lock'");
is($waiter->receive, 't|f', 'and gets it when it is rolled back');
$waiter->close;

# A standby shows locks and takes none.
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
my $reader = IdemTest::Session->new($standby);
is($reader->query("SELECT kind FROM idem_locks WHERE name = 'killed';"), 'durable', 'a standby shows who holds what');
for my $call (
	"idem_lock('killed', '1 s')", "idem_lock('killed', '1 s', wait => NULL)", "idem_lock_extend('killed', $next)",
	"idem_unlock('killed', $next)", "idem_fence('killed', $next)")
{
	is($reader->query("SELECT $call;"), 'ERROR:  25006', "$call is refused there");
}
$reader->close;
# Promoted, it goes on where the other ended.
my $highest = ask('SELECT max(token) FROM idem_records');
$node->stop;
$standby->promote;
is( $standby->safe_psql('postgres', "SELECT acquired, token > $highest FROM idem_lock('promoted', '1 hour')"),
	't|t', 'promoted, it draws higher tokens');
is($standby->safe_psql('postgres', "SELECT acquired FROM idem_lock('killed', '1 hour')"), 'f', 'and respects what is held');

# A restored dump does as well.
my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump';
$highest = $standby->safe_psql('postgres', "SELECT token FROM idem_lock('last', '1 hour')");
command_ok([ 'pg_dump', '--dbname', $standby->connstr('postgres'), '--format=custom', '--file', $dump ], 'pg_dump');
$standby->safe_psql('postgres', 'CREATE DATABASE restored TEMPLATE template0');
command_ok([ 'pg_restore', '--exit-on-error', '--dbname', $standby->connstr('restored'), $dump ], 'pg_restore');
is($standby->safe_psql('restored', "SELECT acquired FROM idem_lock('last', '1 hour')"), 'f', 'restored, it is still held');
is( $standby->safe_psql('restored',
		"SELECT idem_unlock('last', $highest); SELECT acquired, token > $highest FROM idem_lock('last', '1 hour')"),
	"t\nt|t", 'its token gives it back, and the next one is higher');

done_testing();
