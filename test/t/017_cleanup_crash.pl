# Whatever ends the launcher, the worker or the server: the launcher comes back, cleanup goes on, and no record is
# lost or there twice.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);
use IdemTest;
use IdemTestCleanup;

my $node = cleanup_node('crash', 'idem.cleanup_batch' => 1);
my $seed = $ENV{IDEM_SEED} // time;
srand($seed);
note("IDEM_SEED=$seed");

# Expired rows, and a worker that has begun with them.
sub make_work
{
	my ($count) = @_;
	$count //= 100_000;
	my $all = items($node) + $count;
	fill_items($node, $count);
	$node->safe_psql('postgres', 'SELECT idem_cleanup_now()');
	my $pid;
	wait_for(sub { ($pid) = workers($node); defined $pid && items($node) < $all }, 'work');
	return $pid;
}

sub finish_work
{
	configure($node, 'idem.cleanup_batch' => 1000, 'idem.cleanup_rows_per_second' => 0);
	until_sql($node, 'postgres', 'SHOW idem.cleanup_rows_per_second', 0);
	$node->safe_psql('postgres', 'SELECT idem_cleanup_now()');
	until_sql($node, 'postgres', 'SELECT count(*) FROM items', 0);
	no_worker($node);
	configure($node, 'idem.cleanup_batch' => 1);
	until_sql($node, 'postgres', 'SHOW idem.cleanup_batch', 1);
	return;
}

sub signal
{
	my ($function, $pid) = @_;
	return $node->safe_psql('postgres', "SELECT $function($pid)");
}

# A stop that takes too long bails out.
sub stops_quickly
{
	my ($mode, $what) = @_;
	local $ENV{PGCTLTIMEOUT} = 30;
	$node->stop($mode);
	return pass($what);
}

sub waiting_for
{
	my ($event) = @_;
	return "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'pg_idem cleanup' AND wait_event = '$event'";
}

sub fill_items_locally
{
	my ($count) = @_;
	return $node->safe_psql('postgres',
		"SET synchronous_commit = local; INSERT INTO items (expires) SELECT now() FROM generate_series(1, $count);
		SELECT idem_cleanup_now()");
}

add_items($node, 0);

subtest 'the launcher is ended' => sub {
	my $before = launcher($node);
	my $worker = make_work();
	is(signal('pg_terminate_backend', $before), 't', 'ended');
	wait_for(sub { launcher($node) != $before }, 'its successor');
	cmp_ok(scalar(workers($node)), '<=', 1, 'there is one worker at most');
	finish_work();
	pass('and cleanup goes on');
	my $now = launcher($node);
	is(signal('pg_cancel_backend', $now), 't', 'cancelled');
	fill_items($node, 1);
	finish_work();
	pass('cleanup goes on');
};

subtest 'the worker is ended or cancelled' => sub {
	my $launcher = launcher($node);
	my $position = log_since($node);
	my $worker = make_work();
	is(signal('pg_cancel_backend', $worker), 't', 'cancelled');
	finish_work();
	$worker = make_work();
	is(signal('pg_terminate_backend', $worker), 't', 'ended');
	wait_for(sub { !grep { $_ == $worker } workers($node) }, 'its end');
	finish_work();
	is(launcher($node), $launcher, 'the launcher does not mind');
	until_logged($node, $position, qr/cleanup of database "postgres" works again after 1 failure\b/);
	like(log_since($node, $position), qr/WARNING:  cleanup of database "postgres" failed/, 'the log tells');
};

subtest 'a session crashes' => sub {
	my $before = launcher($node);
	make_work();
	my $session = IdemTest::Session->new($node);
	kill_and_recover($node, $session->backend);
	$session->close;
	isnt(launcher($node), $before, 'there is another launcher');
	finish_work();
	pass('and cleanup goes on');
	kill_and_recover($node, launcher($node));
	launcher($node);
	kill_and_recover($node, make_work());
	fill_items($node, 1);
	finish_work();
	pass('also when the launcher or the worker crashes');
};

my $records = 0;

# Records that have expired, of a scope that wants them archived.
sub add_records
{
	my ($count) = @_;
	$node->safe_psql('postgres', <<"SQL");
SELECT idem_begin('moved-' || i, 'archived', retain => '1 us'), idem_finish('moved-' || i, to_jsonb(i), 'archived')
FROM generate_series($records + 1, $records + $count) AS i;
SQL
	$records += $count;
	return;
}

# How many records are not in exactly one of the two tables.
sub misplaced
{
	return $node->safe_psql('postgres', <<"SQL");
SELECT count(*) FROM generate_series(1, $records) AS i LEFT JOIN (
	SELECT key, count(*) FROM (SELECT key FROM idem_records UNION ALL SELECT key FROM idem_archive) AS r GROUP BY key
) AS found ON found.key = 'moved-' || i
WHERE found.count IS DISTINCT FROM 1
SQL
}

subtest 'crashes while records are archived' => sub {
	$node->safe_psql('postgres', "SELECT idem_cleanup_pause(), idem_scope_set('archived', on_expiry => 'archive')");
	configure($node, 'idem.cleanup_batch' => 5);
	until_sql($node, 'postgres', 'SHOW idem.cleanup_batch', 5);
	my ($interrupted, $misplaced) = (0, 0);
	for my $round (1 .. $ENV{IDEM_CRASHES} // 10)
	{
		add_records(1000);
		my $session = IdemTest::Session->new($node);
		my $moved = $session->query('SELECT count(*) FROM idem_archive;');
		$session->query('SELECT idem_cleanup_resume();');
		wait_for(sub { $session->query('SELECT count(*) FROM idem_archive;') > $moved }, 'a move');
		# Anywhere in a batch.
		sleep(rand(0.01));
		if ($round % 2) { kill_and_recover($node, $session->backend); }
		else { $node->stop('immediate'); $node->start; }
		$session->close;
		# In vain where the new launcher is faster; most often there are rows left.
		$node->safe_psql('postgres', 'SELECT idem_cleanup_pause()');
		no_worker($node);
		$interrupted++ if $node->safe_psql('postgres', 'SELECT count(*) FROM idem_archive') < $records;
		$misplaced += misplaced();
	}
	cmp_ok($interrupted, '>', 0, "the work was interrupted $interrupted times");
	is($misplaced, 0, 'after each crash every record is in one place');
	$node->safe_psql('postgres', 'SELECT idem_cleanup_resume()');
	configure($node, 'idem.cleanup_batch' => 1000);
	until_sql($node, 'postgres', 'SELECT count(*) FROM idem_archive', $records);
	is(misplaced(), 0, 'and in the end as well');
	is( $node->safe_psql('postgres', 'SELECT sum(result::text::int) = sum(i) FROM idem_archive,
			LATERAL CAST(substring(key FROM 7) AS int) AS i'), 't', 'with its result');
	configure($node, 'idem.cleanup_batch' => 1);
};

subtest 'the server is stopped' => sub {
	until_sql($node, 'postgres', 'SHOW idem.cleanup_batch', 1);
	for my $mode ('fast', 'immediate')
	{
		make_work();
		stops_quickly($mode, "$mode, while the worker works");
		$node->start;
		configure($node, 'idem.cleanup_rows_per_second' => 20);
		$node->safe_psql('postgres', 'SELECT idem_cleanup_now()');
		until_sql($node, 'postgres', waiting_for('Extension'), 1);
		stops_quickly($mode, "$mode, while it rests");
		$node->start;
		configure($node, 'idem.cleanup_rows_per_second' => 0);
	}
	finish_work();
	my $session = IdemTest::Session->new($node);
	stops_quickly('fast', 'fast, while only the launcher sleeps');
	$session->close;
	$node->start;
};

subtest 'the server is stopped while a commit waits for a standby that is not there' => sub {
	configure($node, synchronous_standby_names => 'nobody');
	until_sql($node, 'postgres', 'SHOW synchronous_standby_names', 'nobody');
	fill_items_locally(100);
	until_sql($node, 'postgres', waiting_for('SyncRep'), 1);
	stops_quickly('fast', 'fast');
	$node->append_conf('postgresql.conf', "synchronous_standby_names = ''");
	$node->start;
	finish_work();
	pass('and cleanup goes on afterwards');
};

subtest 'a flood of reloads' => sub {
	my $launcher = launcher($node);
	make_work(10_000);
	my $sent = 0;
	wait_for(
		sub {
			my @workers = workers($node);
			$sent += kill 'HUP', $launcher, @workers for 1 .. 50;
			$sent > 1000 && items($node) == 0;
		},
		'all of the work');
	is(launcher($node), $launcher, 'the launcher is still there');
	fill_items($node, 1);
	finish_work();
	pass('and cleanup goes on');
};

$node->stop;
done_testing();
