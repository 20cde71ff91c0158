# Many sessions on few names: one at a time has a lock, nothing is left behind by waits that end with an error at any
# moment, and the registry of names fills up, says so, and is empty afterwards.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;

use constant { SESSIONS => 64, PLACES => 8 };

# Runs a script of pgbench in many sessions at once.
sub bench
{
	my ($node, $clients, $transactions, $script, $what) = @_;
	my $file = $node->basedir . '/script.sql';
	PostgreSQL::Test::Utils::append_to_file($file, $script);
	$node->command_ok(
		[ 'pgbench', '--no-vacuum', '--client', $clients, '--transactions', $transactions, '--file', $file, 'postgres' ],
		$what);
	unlink $file;
	return;
}

# A counter that two at a time would break.
sub check_exclusion
{
	my ($node, $how) = @_;
	$node->safe_psql('postgres', 'DROP TABLE IF EXISTS counter; CREATE TABLE counter AS SELECT 0 AS n, 0::bigint AS token');
	bench($node, SESSIONS, 20, <<'SQL', "$how: transactions take turns");
BEGIN;
SELECT token FROM idem_xact_lock('counter') \gset
SELECT n AS seen FROM counter \gset
UPDATE counter SET n = :seen + 1, token = :token WHERE token < :token;
COMMIT;
SQL
	bench($node, SESSIONS, 20, <<'SQL', "$how: so do sessions");
SELECT acquired AS got, coalesce(token, 0) AS token FROM idem_session_lock('counter', '1 min') \gset
SELECT n AS seen FROM counter \gset
UPDATE counter SET n = :seen + 1, token = :token WHERE token < :token;
SELECT idem_session_unlock('counter');
SQL
	is($node->safe_psql('postgres', 'SELECT n FROM counter'), 2 * 20 * SESSIONS, "$how: no turn was lost");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM idem_lock_entries()'), '0', "$how: no lock is left");
	return;
}

# Waits of about the time for which the lock is held: many end just when it is granted.
sub check_narrow_escapes
{
	my ($node, $how) = @_;
	$node->safe_psql('postgres', <<'SQL');
DROP FUNCTION IF EXISTS narrow(text, interval);
CREATE FUNCTION narrow(name text, wait interval) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		IF (SELECT acquired FROM idem_session_lock(narrow.name, narrow.wait)) THEN
			PERFORM pg_sleep(0.0005 + random() / 1000);
			PERFORM idem_session_unlock(narrow.name);
		END IF;
	EXCEPTION WHEN lock_not_available THEN
		NULL;
	END;
	PERFORM idem_session_unlock(narrow.name);
	RAISE EXCEPTION 'a lock was left behind';
EXCEPTION WHEN SQLSTATE 'ID410' THEN
	RETURN 'clean';
END $$
SQL
	bench($node, 8, 250, <<'SQL', "$how: a wait that ends leaves no lock behind");
SET lock_timeout = '1 ms';
SELECT narrow('narrow', NULL);
SET lock_timeout = '0';
SELECT narrow('narrow', '1 ms');
SQL
	is($node->safe_psql('postgres', 'SELECT count(*) FROM idem_lock_entries()'), '0', "$how: nor do all together");
	return;
}

my $plain = idem_node('plain', max_connections => SESSIONS + 10);
check_exclusion($plain, 'not preloaded');
check_narrow_escapes($plain, 'not preloaded');
$plain->stop;
my $node = idem_node('preloaded', max_connections => SESSIONS + 10, shared_preload_libraries => 'pg_idem',
	'idem.max_session_locks' => PLACES);
check_exclusion($node, 'preloaded');
check_narrow_escapes($node, 'preloaded');

my ($one, $two) = map { IdemTest::Session->new($node) } 1 .. 2;
my $waiter = $two->backend;

# Takes names until one is refused, and lets go of them. A name that somebody forgot to give back would be missing.
sub all_places_are_free
{
	my ($what) = @_;
	my $probe = IdemTest::Session->new($node);
	my $names = 'FROM generate_series(1, ' . PLACES . ') AS i';
	is($probe->query("SELECT count(depth) $names, idem_session_lock('place ' || i);"), PLACES, "$what: all places are free");
	is($probe->query("SELECT depth FROM idem_session_lock('one more', '0');"), 'ERROR:  53200', "$what: and no more");
	is($probe->query("SELECT sum(idem_session_unlock('place ' || i)) $names;"), '0', "$what: they are given back");
	$probe->close;
	return;
}

all_places_are_free('after the load');
my ($status, $out, $errors) = $node->psql('postgres',
	'SELECT idem_xact_lock(i::text) FROM generate_series(1, 1 + ' . PLACES . ') AS i');
like($errors, qr/HINT: .*idem\.max_session_locks/, 'the error names the setting');
all_places_are_free('after that error');

# A full registry is no hindrance for names that are in it.
$one->query('SELECT depth FROM generate_series(1, ' . PLACES . ") AS i, idem_session_lock('k' || i);");
is($two->query("SELECT acquired FROM idem_xact_lock('k1', '0');"), 'f', 'full, it still knows its names');
is($two->query("SELECT acquired FROM idem_xact_lock('other');"), 'ERROR:  53200', 'and refuses others');
is($one->query("SELECT depth FROM idem_session_lock('k1');"), '2', 'the holder can take its lock again');
is($one->query("SELECT idem_session_unlock('k1'); SELECT idem_session_unlock('k1');"), "1\n0", 'and give it back');
is($two->query("SELECT acquired FROM idem_xact_lock('other');"), 't', 'which makes room');
$one->query('SELECT FROM pg_advisory_unlock_all();');
all_places_are_free('after pg_advisory_unlock_all');

# A thousand waits that end with an error, in subtransactions and without.
$one->query("SELECT FROM idem_session_lock('busy');");
$two->query("SET lock_timeout = '1 ms';");
my $end = '; EXCEPTION WHEN lock_not_available THEN failed := failed + 1; END';
is( $two->query(
		"DO \$\$ DECLARE failed integer := 0; BEGIN FOR i IN 1..500 LOOP"
		. " BEGIN PERFORM idem_xact_lock('mine ' || i), idem_session_lock('busy') $end;"
		. " BEGIN PERFORM idem_xact_lock('mine ' || i), idem_xact_lock('busy', '1 h') $end;"
		. " END LOOP; ASSERT failed = 1000; END \$\$;"),
	'', 'waits that fail in subtransactions');
my %answers;
$answers{ $two->query("SELECT acquired FROM idem_session_lock('busy');") }++ for 1 .. 100;
is_deeply(\%answers, { 'ERROR:  55P03' => 100 }, 'and on their own');
$two->query('RESET lock_timeout;');
is($two->query("SELECT count(*) FROM generate_series(1, 1000) AS i, idem_session_lock('busy', i * '1 us'::interval) WHERE acquired;"),
	'0', 'waits that just end');
for (1 .. 20)
{
	$two->send("SELECT acquired FROM idem_session_lock('busy');");
	wait_until($node, 'count(*) = 1 FROM idem_lock_entries() WHERE NOT granted', 'the waiter');
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($waiter)");
	is($two->receive, 'ERROR:  57014', 'a wait that is cancelled');
}
$one->query("SELECT idem_session_unlock('busy');");
all_places_are_free('after all these waits');

# Sessions that end while they hold and while they wait.
for my $way ('ended by the server', 'left by their clients')
{
	my @sessions = map { IdemTest::Session->new($node) } 1 .. 4;
	$_->backend for @sessions;
	$sessions[0]->query("SELECT FROM idem_session_lock('end') AS x, idem_session_lock('a') AS y;");
	$sessions[1]->query("BEGIN; SELECT FROM idem_xact_lock('b') AS x, idem_session_lock('c') AS y;");
	$_->send("SELECT FROM idem_session_lock('end');") for @sessions[1 .. 3];
	wait_until($node, 'count(*) = 3 FROM idem_lock_entries() WHERE NOT granted', 'the waiters');
	$node->safe_psql('postgres', 'SELECT pg_terminate_backend(pid) FROM (SELECT DISTINCT pid FROM idem_lock_entries()) AS l')
	  if $way eq 'ended by the server';
	kill 'KILL', map { $_->{process} } @sessions;
	$_->close for @sessions;
	wait_until($node, 'count(*) = 0 FROM idem_lock_entries()', 'the end of all locks');
	pass("sessions $way have no locks");
}
$_->close for $one, $two;
wait_until($node, "count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'", 'the end of all sessions');
all_places_are_free('after all sessions');

done_testing();
