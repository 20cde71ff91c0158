# Servers and databases without the extension, with something that looks like it, with another version of it, or while
# they are upgraded.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;
use IdemTestCleanup;

my $alarm = qr/(?:WARNING|ERROR|FATAL|PANIC):|TRAP|terminated by signal/;

# How many transactions there were in a database. Workers are the only ones who begin any unasked.
sub transactions
{
	my ($node, $database) = @_;
	return $node->safe_psql('postgres',
		"SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = '$database'");
}

sub visited
{
	my ($node, $database, $before) = @_;
	wait_for(sub { transactions($node, $database) > $before }, "a visit to $database");
	return;
}

subtest 'preloaded, and the extension nowhere' => sub {
	my $node = PostgreSQL::Test::Cluster->new('nowhere');
	$node->init;
	$node->append_conf('postgresql.conf', <<'CONF');
shared_preload_libraries = 'pg_idem'
idem.cleanup_naptime = '1s'
autovacuum = off
CONF
	$node->start;
	launcher($node);
	$node->safe_psql('postgres', 'CREATE DATABASE bare');
	visited($node, 'bare', 0);
	no_worker($node);
	unlike(slurp_file($node->logfile), $alarm, 'nothing to complain about');
	$node->stop;
};

my $node = cleanup_node('upgrade', autovacuum => 'off', 'idem.cleanup_max_workers' => 4);

subtest 'tables that look like those of the extension' => sub {
	my $position = log_since($node);
	$node->safe_psql('postgres', 'CREATE DATABASE mould IS_TEMPLATE true');
	$node->safe_psql('mould', <<'SQL');
CREATE SCHEMA idem;
CREATE TABLE idem_records (expires_at timestamptz, status text, lease_expires_at timestamptz);
INSERT INTO idem_records VALUES ('-infinity', 'finished', '-infinity');
CREATE TABLE idem_archive (i int);
CREATE TABLE idem_expiries (i int);
CREATE TABLE idem_cleanup_paused (i int);
SQL
	$node->safe_psql('postgres', 'CREATE DATABASE lookalike TEMPLATE mould');
	visited($node, 'lookalike', 0);
	no_worker($node);
	is($node->safe_psql('lookalike', 'SELECT count(*) FROM idem_records'), 1, 'are left alone');
	unlike(log_since($node, $position), $alarm, 'without a word');
};

subtest 'another schema' => sub {
	$node->safe_psql('postgres', 'CREATE DATABASE odd');
	$node->safe_psql('odd', <<'SQL');
CREATE SCHEMA "Odd Schema";
CREATE EXTENSION pg_idem SCHEMA "Odd Schema";
SET search_path = "Odd Schema";
SELECT idem_scope_set('archived', on_expiry => 'archive');
SELECT idem_begin('a', 'archived', retain => '1 us'), idem_finish('a', '1', 'archived');
SELECT idem_begin('b', retain => '1 us'), idem_finish('b', '1');
CREATE TABLE public."Items" (expires timestamptz DEFAULT now());
CREATE INDEX ON public."Items" (expires);
INSERT INTO public."Items" VALUES (DEFAULT), ('infinity');
SELECT idem_expire_attach('public."Items"', 'expires', '0');
SQL
	until_sql($node, 'odd', 'SELECT count(*) FROM public."Items"', 1);
	until_sql($node, 'odd', 'SELECT string_agg(key, \' \') FROM "Odd Schema".idem_archive', 'a');
	until_sql($node, 'odd', 'SELECT count(*) FROM "Odd Schema".idem_records', 0);
	is($node->safe_psql('odd', 'SELECT sum(errors) FROM "Odd Schema".idem_stat_cleanup'), 0, 'there is no error');
	$node->safe_psql('postgres', 'DROP DATABASE odd');
};

subtest 'another version of the extension' => sub {
	my $failed = qr/WARNING:  cleanup of database "postgres" failed: .*ALTER EXTENSION pg_idem UPDATE/;
	configure($node, 'idem.cleanup' => 'off');
	until_sql($node, 'postgres', 'SHOW idem.cleanup', 'off');
	no_worker($node);
	my $position = log_since($node);
	# Asks for a visit as well, which is made when cleanup is on again.
	add_items($node, 1);
	$node->safe_psql('postgres', 'ALTER TABLE idem_cleanup_paused RENAME TO idem_other');
	configure($node, 'idem.cleanup' => 'on');
	until_logged($node, $position, $failed);
	# It is looked at again, with longer and longer delays.
	$node->safe_psql('postgres', 'CREATE DATABASE witness');
	$node->safe_psql('witness', 'CREATE EXTENSION pg_idem');
	add_items($node, 0, 'witness');
	for (1 .. 3)
	{
		fill_items($node, 1, 'witness');
		$node->safe_psql('witness', 'SELECT idem_cleanup_now()');
		until_sql($node, 'witness', 'SELECT count(*) FROM items', 0);
	}
	my @found = log_since($node, $position) =~ /$failed/g;
	is(scalar(@found), 1, 'the log says it once');
	unlike(log_since($node, $position), qr/ERROR:|works again/, 'and nothing else');
	is(items($node), 1, 'nothing happens');
	$node->safe_psql('postgres', 'ALTER TABLE idem_other RENAME TO idem_cleanup_paused; SELECT idem_cleanup_now()');
	until_sql($node, 'postgres', 'SELECT count(*) FROM items', 0);
	until_logged($node, $position, qr/LOG:  cleanup of database "postgres" works again after \d+ failures?/);
};

subtest 'dropped and created again while the worker works' => sub {
	my $position = log_since($node);
	configure($node, 'idem.cleanup_batch' => 1);
	until_sql($node, 'postgres', 'SHOW idem.cleanup_batch', 1);
	fill_items($node, 100_000);
	$node->safe_psql('postgres', 'SELECT idem_cleanup_now()');
	wait_for(sub { workers($node, 'postgres') && items($node) < 100_000 }, 'work');
	my $session = IdemTest::Session->new($node);
	is($session->query('DROP EXTENSION pg_idem;'), '', 'dropped');
	no_worker($node, 'postgres');
	my $left = items($node);
	cmp_ok($left, '>', 0, 'the worker leaves');
	is($session->query('CREATE EXTENSION pg_idem;'), '', 'created again');
	is($session->query("SELECT idem_expire_attach('items', 'expires', '0');"), '', 'in the same session');
	configure($node, 'idem.cleanup_batch' => 1000);
	until_sql($node, 'postgres', 'SELECT count(*) FROM items', 0);
	no_worker($node, 'postgres');
	is(status($node, 'errors, last_error'), '0|', 'without an error');
	unlike(log_since($node, $position), $alarm, 'the log has nothing to say');
	$session->close;
};

subtest 'while the server is upgraded' => sub {
	fill_items($node, 1);
	$node->stop;
	system_or_bail('pg_ctl', 'start', '--silent', '--pgdata', $node->data_dir, '--log', $node->logfile,
		'--options', '-b');
	is($node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'pg\\_idem%'"),
		0, 'there is no launcher');
	is(items($node), 1, 'rows stay');
	is($node->safe_psql('postgres', "SELECT outcome FROM idem_begin('a')"), 'started', 'the rest works');
	$node->safe_psql('postgres', 'DROP DATABASE witness');
	system_or_bail('pg_ctl', 'stop', '--silent', '--pgdata', $node->data_dir, '--timeout', 30);
};

subtest 'a server without a postmaster' => sub {
	my $calls = "SELECT outcome FROM idem_begin('single')\nSELECT idem_cleanup_now()\n"
	  . "SELECT state FROM idem_stat_cleanup WHERE relation = 'items'::regclass\nSELECT count(*) FROM items\n";
	my ($out, $error);
	my @server = ('postgres', '--single', '-D', $node->data_dir, 'postgres');
	ok(IPC::Run::run(\@server, '<', \$calls, '>', \$out, '2>', \$error), 'runs');
	like($out, qr/outcome = "started"/, 'the functions work');
	like($out, qr/count = "1"/, 'rows stay');
	# Up to 14 such a server preloads no libraries.
	if ($out =~ /state = "not preloaded"/)
	{
		like($error, qr/ERROR:  .*: pg_idem is not in shared_preload_libraries/, 'whoever wants the launcher is told');
	}
	else
	{
		like($out, qr/state = "waiting"/, 'the view as well');
		like($error, qr/WARNING:  the cleanup launcher does not run at present/, 'whoever wants the launcher is told');
		$error =~ s/WARNING:  the cleanup launcher does not run at present//;
		unlike($error, $alarm, 'without another complaint');
	}
	$node->start;
	$node->safe_psql('postgres', 'SELECT idem_cleanup_now()');
	until_sql($node, 'postgres', 'SELECT count(*) FROM items', 0);
};

$node->stop;
done_testing();
