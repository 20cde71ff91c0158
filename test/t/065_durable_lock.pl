# A durable lock belongs to whoever has its token: behind a pool, after the end of the session that took it, after a
# crash of the server, on a promoted standby and in a restored dump. Held by the hundred thousand, it takes no entry in
# the lock table; not to get it leaves nothing in the log.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;

my $node = idem_node(
	'locks',
	autovacuum => 'off',
	max_connections => 15,
	max_locks_per_transaction => 10,
	max_prepared_transactions => 2);

sub ask { return $node->safe_psql('postgres', $_[0]) }

sub take
{
	my ($name, $ttl) = @_;
	my ($acquired, $token) = split /\|/, ask("SELECT acquired, token FROM idem_lock('$name', '$ttl', owner => 'me')");
	is($acquired, 't', "$name is taken");
	return $token;
}

sub is_held
{
	my ($name, $what) = @_;
	return is(ask("SELECT acquired, holder FROM idem_lock('$name', '1 hour')"), 'f|me', $what);
}

sub test_pool
{
	my @pool = map { IdemTest::Session->new($node) } 1 .. 2;
	my $next = 0;
	my $transaction = sub {
		my ($sql) = @_;
		my $session = $pool[ $next++ % @pool ];
		my $answer = $session->query("BEGIN; $sql COMMIT;");
		$session->query('DISCARD ALL;');
		return $answer;
	};
	for my $round (1 .. 2)
	{
		my $name = "pooled $round";
		my ($acquired, $token) = split /\|/, $transaction->("SELECT acquired, token FROM idem_lock('$name', '1 hour');");
		is($acquired, 't', "$name: taken in one backend");
		is($transaction->("SELECT idem_unlock('$name');"), 'ERROR:  ID410', 'another one has to be told the token');
		is($transaction->("SELECT idem_lock_extend('$name', $token, '2 h') > now() + '1 h';"), 't', 'a heartbeat');
		is($transaction->("SELECT idem_fence('$name', $token);"), '', 'a fence');
		is($transaction->("SELECT acquired FROM idem_lock('$name', '1 hour');"), 'f', 'it is taken, in each of them');
		is($transaction->("SELECT idem_unlock('$name', $token);"), 't', 'unlocked');
		is($transaction->("SELECT 1;"), '1', 'the other backend comes first next time');
	}
	$_->close for @pool;
	return;
}

sub test_quiet_log
{
	my $token = take('quiet', '1 hour');
	my $position = log_since($node);
	for my $level ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE')
	{
		my $loser = IdemTest::Session->new($node);
		$loser->query("BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM idem_records;");
		my $lose = "SELECT acquired FROM idem_lock('quiet', '1 hour', wait =>";
		is($loser->query("$lose '0');"), 'f', "$level: not acquired");
		is($loser->query("$lose '20 ms');"), 'f', 'nor by waiting');
		is($loser->query('SELECT 1; COMMIT;'), '1', 'the transaction goes on and commits');
		$loser->close;
	}
	is(join("\n", grep { /(?:ERROR|FATAL|WARNING):/ } split /\n/, log_since($node, $position)), '', 'the log is silent');
	is(ask("SELECT idem_unlock('quiet', $token)"), 't', 'it was held all the time');
	return;
}

# Without preload nobody is woken: the waiting session looks by itself.
sub test_waiting
{
	my $token = take('awaited', '1 hour');
	my $waiter = IdemTest::Session->new($node);
	$waiter->send("SELECT acquired, after_loss FROM idem_lock('awaited', '1 hour', wait => NULL);");
	wait_until($node, "waiters = 1 FROM idem_locks WHERE name = 'awaited'", 'somebody waits');
	is(ask("SELECT idem_unlock('awaited', $token)"), 't', 'unlocked');
	is($waiter->receive, 't|f', 'whoever waits gets it');
	$waiter->close;
	return;
}

sub test_end_of_the_session
{
	my $holder = IdemTest::Session->new($node);
	is($holder->query("SELECT acquired FROM idem_lock('left', '1 hour', owner => 'me');"), 't', 'a session takes a lock');
	is($holder->query("SELECT acquired FROM idem_lock('brief', '1 s');"), 't', 'and another for a short time');
	ask('SELECT pg_terminate_backend(' . $holder->backend . ')');
	$holder->close;
	is_held('left', 'a lock outlives the session');
	is(ask("SELECT acquired, after_loss FROM idem_lock('brief', '1 hour', wait => NULL)"), 't|t', 'until its lease is over');
	return;
}

sub test_prepared
{
	ask("BEGIN; SELECT idem_lock('prepared', '1 hour', owner => 'me'); PREPARE TRANSACTION 'p'");
	is(ask("SELECT acquired, holder FROM idem_lock('prepared', '1 hour')"), 'f|', 'a prepared transaction has the lock');
	ask("COMMIT PREPARED 'p'");
	is_held('prepared', 'and after its commit');
	return;
}

sub test_many
{
	is(ask("SELECT count(*) FROM generate_series(1, 100000) AS i, idem_lock('many ' || i, '1 hour') WHERE acquired"),
		100000, 'a hundred thousand locks in one transaction');
	is(ask("SELECT count(*) FROM idem_locks WHERE name LIKE 'many %'"), 100000, 'are held');
	is(ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), 0, 'without an entry in the lock table');
	ask("DELETE FROM idem_records WHERE key LIKE 'many %'");
	return;
}

sub test_crash
{
	my $token = take('committed', '1 hour');
	my $open = IdemTest::Session->new($node);
	is($open->query("BEGIN; SELECT acquired FROM idem_lock('open', '1 hour');"), 't', 'another is not committed');
	$node->stop('immediate');
	$open->close;
	$node->start;
	is_held('committed', 'after the crash the committed lock is held');
	is(ask("SELECT idem_lock_extend('committed', $token) > now()"), 't', 'by the same token');
	is(ask("SELECT acquired, after_loss FROM idem_lock('open', '1 hour')"), 't|f', 'the other was never taken');
	cmp_ok(ask("SELECT token FROM idem_locks WHERE name = 'open'"), '>', $token, 'tokens go on growing');
	return;
}

sub test_standby
{
	my $token = take('replicated', '1 hour');
	$node->backup('base');
	my $standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($node, 'base', has_streaming => 1);
	$standby->start;
	my $late = take('later', '1 hour');
	$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
	my $session = IdemTest::Session->new($standby);
	for my $call ("lock('new', '1 hour')", "lock_extend('later', $late)", "unlock('later', $late)", "fence('later', $late)")
	{
		is($session->query("SELECT idem_$call;"), 'ERROR:  25006', "a standby refuses idem_$call");
	}
	is($session->query("SELECT holder, waiters FROM idem_locks WHERE name = 'later';"), 'me|0', 'and shows what is held');
	$session->close;
	$node->stop;
	$standby->promote;
	is($standby->safe_psql('postgres', "SELECT acquired FROM idem_lock('later', '1 hour')"), 'f', 'promoted, it keeps it');
	is($standby->safe_psql('postgres', "SELECT idem_unlock('later', $late)"), 't', 'for the same token');
	cmp_ok($standby->safe_psql('postgres', "SELECT token FROM idem_lock('later', '1 hour')"),
		'>', $late, 'and gives out greater ones');
	$standby->stop;
	$node->start;
	return;
}

sub test_dump
{
	my $token = take('dumped', '1 hour');
	my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';
	$node->command_ok([ 'pg_dump', '--file', $dump, '--dbname', $node->connstr('postgres') ], 'pg_dump');
	ask('CREATE DATABASE restored');
	$node->safe_psql('restored', "\\i $dump");
	is($node->safe_psql('restored', "SELECT acquired, holder FROM idem_lock('dumped', '1 hour')"),
		'f|me', 'a restored lock is held');
	is($node->safe_psql('restored', "SELECT idem_unlock('dumped', $token)"), 't', 'by its token');
	is_held('dumped', 'each database has its own');
	return;
}

test_pool();
test_quiet_log();
test_waiting();
test_end_of_the_session();
test_prepared();
test_many();
test_crash();
test_standby();
test_dump();

done_testing();
