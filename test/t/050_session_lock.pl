# Session and transaction locks between sessions: what a name is, with preload and without; who has a lock after the
# holder was ended or killed; prepared transactions, databases, a standby.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;

# Two names with the same hash; the server shows with which function it was found.
use constant TWINS => ('nightly-load', 'mdw6EgO36xif');
use constant SAME_HASH => 'hashtextextended(\'' . join('\', 0) = hashtextextended(\'', TWINS) . '\', 0)';

sub lock_sql { my ($name, $wait) = @_; return "SELECT acquired FROM idem_session_lock('$name', $wait);"; }

sub wait_for_waiters
{
	my ($node, $count) = @_;
	wait_until($node, "count(*) = $count FROM idem_lock_entries() WHERE NOT granted", "$count waiters");
	return;
}

# What holds with preload and without.
sub check_sessions
{
	my ($node, $how) = @_;
	my ($one, $two, $three) = map { IdemTest::Session->new($node) } 1 .. 3;

	# pg_advisory_unlock_all and DISCARD ALL let others in, and the session learns of it.
	for my $forget ('SELECT FROM pg_advisory_unlock_all();', 'DISCARD ALL;')
	{
		is($one->query(lock_sql('forgotten', 'NULL')), 't', "$how: a lock");
		is($two->query(lock_sql('forgotten', "'0'")), 'f', "$how: kept from others");
		$one->query($forget);
		is($two->query(lock_sql('forgotten', "'0'")), 't', "$how: after $forget the next has it");
		is($one->query("SELECT idem_session_unlock('forgotten');"), 'ERROR:  ID410', "$how: the first cannot release it");
		is($one->query(lock_sql('forgotten', "'0'")), 'f', "$how: nor take it again");
		is($two->query("SELECT idem_session_unlock('forgotten');"), '0', "$how: the second can release it");
		is($one->query(lock_sql('forgotten', "'0'") . "SELECT idem_session_unlock('forgotten');"), "t\n0",
			"$how: and it is not stuck");
	}

	# The server ends a holder, then a waiter.
	$one->query(lock_sql('k', 'NULL'));
	$two->send(lock_sql('k', "'1 hour'"));
	wait_for_waiters($node, 1);
	$three->send(lock_sql('k', 'NULL'));
	wait_for_waiters($node, 2);
	is($node->safe_psql('postgres', 'SELECT name, waiters, pid FROM idem_locks'),
		($how eq 'preloaded' ? 'k' : '') . '|2|' . $one->backend, "$how: one holds it and two wait");
	$node->safe_psql('postgres', 'SELECT pg_terminate_backend(' . $one->backend . ')');
	is($two->receive, 't', "$how: the next has the lock of a session that was ended");
	$one->close;
	my $four = IdemTest::Session->new($node);
	$four->backend;
	$four->send("BEGIN; SELECT acquired FROM idem_xact_lock('k');");
	wait_for_waiters($node, 2);
	$node->safe_psql('postgres',
		'SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_locks'
		. ' WHERE NOT granted ORDER BY pid <> ' . $four->backend . ' DESC LIMIT 1) AS w');
	is($two->query("SELECT idem_session_unlock('k');"), '0', "$how: the holder releases it");
	is($four->receive, 't', "$how: a waiter that was ended is not waited for");
	$three->close;
	# A client goes away and leaves its transaction open.
	$two->send(lock_sql('k', 'NULL'));
	wait_for_waiters($node, 1);
	$four->close;
	is($two->receive, 't', "$how: the next has the lock of a client that went away");
	$two->close;
	wait_until($node, 'count(*) = 0 FROM idem_lock_entries()', 'the end of all locks');
	return;
}

sub check_crash
{
	my ($node, $how) = @_;
	my ($one, $two) = map { IdemTest::Session->new($node) } 1 .. 2;
	my $token = $one->query("SELECT token FROM idem_session_lock('crash');");
	$two->send(lock_sql('crash', 'NULL'));
	wait_for_waiters($node, 1);
	kill 'KILL', $one->backend;
	$two->receive;
	$_->close for $one, $two;
	wait_until($node, '1 = 1', 'recovery');
	my $next = IdemTest::Session->new($node);
	is( $next->query("SELECT acquired, depth, token > $token FROM idem_session_lock('crash', '0');"),
		't|1|t', "$how: nothing is locked after a crash, and tokens go on");
	$next->close;
	return;
}

sub check_prepared
{
	my ($node, $how) = @_;
	my $session = IdemTest::Session->new($node);
	is( $session->query("BEGIN; SELECT depth FROM idem_xact_lock('p'); PREPARE TRANSACTION 'p';"),
		"1\nERROR:  0A000", "$how: no PREPARE with a lock of the transaction");
	is($session->query('SELECT count(*) FROM idem_lock_entries();'), '0', "$how: nothing is left of it");
	is( $session->query(
			"BEGIN; SELECT depth FROM idem_session_lock('p'); SAVEPOINT s; SELECT depth FROM idem_xact_lock('q');"
			. "ROLLBACK TO s; PREPARE TRANSACTION 'p'; SELECT name, kind FROM idem_locks;"),
		"1\n1\np|session", "$how: a lock of the session may be held, and stays the session's");
	is($session->query("ROLLBACK PREPARED 'p'; SELECT idem_session_unlock('p');"), '0', "$how: as long as it wants");
	$session->close;
	return;
}

my $plain = idem_node('plain', max_prepared_transactions => 5, restart_after_crash => 'on');
my $node = idem_node('preloaded', max_prepared_transactions => 5, restart_after_crash => 'on',
	shared_preload_libraries => 'pg_idem');
for (['not preloaded', $plain], ['preloaded', $node])
{
	my ($how, $server) = @$_;
	check_sessions($server, $how);
	check_prepared($server, $how);
	check_crash($server, $how);
}

# A hash does not make two names one, unless there is no shared memory to tell them apart.
SKIP:
{
	skip 'this machine hashes otherwise', 2
	  if $node->safe_psql('postgres', 'SELECT ' . SAME_HASH) ne 't';
	for (['f', $plain], ['t', $node])
	{
		my ($expected, $server) = @$_;
		my ($one, $two) = map { IdemTest::Session->new($server) } 1 .. 2;
		$one->query(lock_sql((TWINS)[0], 'NULL'));
		is($two->query(lock_sql((TWINS)[1], "'0'")), $expected, 'two names with one hash');
		$_->close for $one, $two;
	}
}
# Every name in use has a number of its own, which is not given out again.
my ($one, $two) = map { IdemTest::Session->new($node) } 1 .. 2;
my $numbers = "SELECT DISTINCT hash FROM idem_lock_entries() WHERE name ~ '^n'";
is($one->query("SELECT count(depth) FROM generate_series(1, 200) AS i, idem_session_lock('n' || i);"), '200', 'many names');
is($two->query("SELECT count(*) FROM ($numbers) AS n;"), '200', 'have as many numbers');
my $highest = $two->query("SELECT max(hash) FROM ($numbers) AS n;");
$one->query("SELECT sum(idem_session_unlock('n' || i)) FROM generate_series(1, 200) AS i;");
$one->query("SELECT count(depth) FROM generate_series(1, 200) AS i, idem_session_lock('n' || i);");
is($two->query("SELECT count(*) FROM ($numbers) AS n WHERE hash > $highest;"), '200', 'and the next time new ones');
$one->query('SELECT FROM pg_advisory_unlock_all();');

# What is seen of others: the view, and the holder in a grant.
$one->query("SET application_name = 'batch'; SELECT FROM idem_session_lock('seen');");
my $token = $one->query("SELECT token FROM idem_session_lock('seen');");
$two->send("SET application_name = ''; SELECT acquired FROM idem_session_lock('seen', '1 hour');");
wait_for_waiters($node, 1);
my $observer = IdemTest::Session->new($node);
is( $observer->query(
		'SELECT name, kind, holder, token, acquired_at < now(), expires_at, remaining, waiters, pid, data FROM idem_locks;'),
	"seen|session|batch|$token|t|||1|" . $one->backend . '|', 'the view');
is($observer->query("SELECT acquired, holder FROM idem_xact_lock('seen', '0');"), 'f|batch', 'the holder in a grant');
$one->query("SELECT idem_session_unlock('seen'); SELECT idem_session_unlock('seen');");
is($two->receive, 't', 'the lock is handed over');
my $user = $two->query('SELECT session_user;');
is($observer->query("SELECT holder, token > $token, pid FROM idem_locks;"), "$user|t|" . $two->backend,
	'a session without an application is shown by its user');
is($observer->query("SELECT acquired, holder FROM idem_xact_lock('seen', '0');"), "f|$user", 'also in a grant');

# Databases do not meet.
$node->safe_psql('postgres', 'CREATE DATABASE elsewhere');
$node->safe_psql('elsewhere', 'CREATE EXTENSION pg_idem');
my $elsewhere = IdemTest::Session->new($node, 'elsewhere');
is($elsewhere->query(lock_sql('seen', "'0'")), 't', 'another database has names of its own');
is($elsewhere->query('SELECT name, pid FROM idem_locks;'), 'seen|' . $elsewhere->backend, 'and shows no others');
is($observer->query('SELECT name, pid FROM idem_locks;'), 'seen|' . $two->backend, 'nor is it shown');
$_->close for $one, $two, $observer, $elsewhere;

# On a standby the locks are those of its own sessions, without tokens.
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
($one, $two) = map { IdemTest::Session->new($standby) } 1 .. 2;
is($one->query("SELECT acquired, token, depth FROM idem_session_lock('s');"), 't||1', 'a lock on a standby');
is($two->query("SELECT acquired, token, depth FROM idem_session_lock('s', '100 ms');"), 'f||', 'which others respect');
is( $two->query("BEGIN; SELECT acquired FROM idem_xact_lock('t', '1 s'); SELECT name, kind, token FROM idem_locks ORDER BY name; COMMIT;"),
	"t\ns|session|\nt|transaction|", 'and see');
is($node->safe_psql('postgres', lock_sql('s', "'0'")), 't', 'the primary has its own');
$standby->promote;
is($one->query("SELECT acquired, token > 0, depth FROM idem_session_lock('s');"), 't|t|2', 'promoted, it draws a token');
is($one->query("SELECT idem_session_unlock('s'); SELECT idem_session_unlock('s');"), "1\n0", 'and the lock is what it was');
$_->close for $one, $two;

done_testing();
