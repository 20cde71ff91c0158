# Expired rows vanish by themselves, where, when and as fast as the settings and the operators say.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;
use IdemTestCleanup;

my $node = cleanup_node('worker');

# A row that expires in a moment, and a visit planned for then. Says when that is. The visit that plans the next one may
# itself come only when the row has expired: there is more time at the second attempt.
sub plan_visit
{
	my ($database) = @_;
	for my $seconds (4, 8)
	{
		fill_items($node, 1, $database, $seconds);
		$node->safe_psql($database, 'SELECT idem_cleanup_now()');
		until_sql($node, $database,
			"SELECT NOT EXISTS (SELECT FROM items) OR EXISTS (SELECT FROM idem_stat_cleanup AS s, items AS i
			WHERE s.relation = 'items'::regclass AND s.state = 'waiting'
			AND s.next_run_at BETWEEN i.expires AND i.expires + interval '1 s')");
		my $planned = $node->safe_psql($database, 'SELECT expires FROM items');
		return $planned if $planned ne '';
	}
	die 'every visit came too late to plan one';
}

# Waits until a visit planned for a time would be over.
sub let_pass
{
	my ($time) = @_;
	return until_sql($node, 'postgres', "SELECT clock_timestamp() > timestamptz '$time' + interval '1 s'");
}

# An hour that is far from now.
sub closed_window
{
	return $node->safe_psql('postgres',
		"SELECT lpad(h::text, 2, '0') || ':00-' || lpad((h + 1)::text, 2, '0') || ':00'
		FROM mod(extract(hour FROM now())::int + 6, 24) AS h");
}

subtest 'expired rows vanish' => sub {
	$node->safe_psql('postgres', <<'SQL');
SELECT idem_begin('done-' || i, retain => '1 us'), idem_finish('done-' || i, '1') FROM generate_series(1, 50) AS i;
SELECT idem_begin('kept'), idem_begin('finished'), idem_finish('finished', '1');
CREATE TABLE items (id bigint GENERATED ALWAYS AS IDENTITY, expires timestamptz) WITH (autovacuum_enabled = off);
CREATE INDEX ON items (expires);
INSERT INTO items (expires) SELECT now() FROM generate_series(1, 500);
INSERT INTO items (expires) VALUES ('infinity'), (NULL), (now() + '1 day');
SELECT idem_expire_attach('items', 'expires', '0');
SQL
	until_sql($node, 'postgres', 'SELECT count(*) FROM idem_records', 2);
	until_sql($node, 'postgres', 'SELECT count(*) FROM items', 3);
	no_worker($node);
	my $columns = 'action, state, rows, batches, errors, last_error, oldest_expired_age, backlog_estimate,
		started_at <= finished_at, last_success_at = finished_at, next_run_at > finished_at';
	is(status($node, $columns), 'delete|waiting|500|1|0|||0|t|t|t', 'the view tells of the table');
	is( status($node, 'action, state, rows, errors, next_run_at IS NOT NULL', 'postgres', 'idem_records'),
		'policy|waiting|50|0|t', 'and of the records');
	is($node->safe_psql('postgres', "SELECT outcome FROM idem_begin('finished')"), 'replayed', 'what is kept is kept');
};

subtest 'an idle database is left in peace' => sub {
	launcher($node);
	until_sql($node, 'postgres',
		"SELECT datname IS NULL AND backend_xmin IS NULL AND backend_xid IS NULL AND xact_start IS NULL
		FROM pg_stat_activity WHERE backend_type = 'pg_idem cleanup launcher'");
	no_worker($node);
	is($node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'pg\\_idem%'"),
		1, 'the launcher is the only process');
};

subtest 'a visit on request' => sub {
	fill_items($node, 10);
	my $session = IdemTest::Session->new($node);
	$session->query('BEGIN; SELECT idem_cleanup_now(); ROLLBACK;');
	is($session->query('SELECT idem_cleanup_now();'), '', 'asked for');
	until_sql($node, 'postgres', 'SELECT count(*) FROM items', 3);
	$session->close;
};

subtest 'databases that came later' => sub {
	$node->safe_psql('postgres', 'CREATE DATABASE later');
	$node->safe_psql('later', 'CREATE EXTENSION pg_idem');
	add_items($node, 5, 'later');
	until_sql($node, 'later', 'SELECT count(*) FROM items', 0);

	# Nobody cleans up in a template, so the copy starts with rows that have expired.
	$node->safe_psql('postgres', 'ALTER DATABASE later IS_TEMPLATE true');
	no_worker($node, 'later');
	fill_items($node, 5, 'later');
	$node->safe_psql('later', 'SELECT idem_cleanup_now()');
	until_sql($node, 'postgres',
		"SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = 'later' AND backend_type = 'client backend'");
	$node->safe_psql('postgres', 'CREATE DATABASE copy TEMPLATE later');
	is(items($node, 'later'), 5, 'rows of a template stay');
	until_sql($node, 'copy', 'SELECT count(*) FROM items', 0);
	is(items($node, 'later'), 5, 'also when its copy is cleaned up');
	$node->safe_psql('postgres', 'ALTER DATABASE later IS_TEMPLATE false');
	until_sql($node, 'later', 'SELECT count(*) FROM items', 0);
	$node->safe_psql('postgres', 'DELETE FROM items');
};

subtest 'off and on' => sub {
	my $planned = plan_visit('postgres');
	configure($node, 'idem.cleanup' => 'off');
	until_sql($node, 'postgres', 'SHOW idem.cleanup', 'off');
	is(status($node, 'state'), 'off', 'the view says so');
	my ($status, $out, $error) = $node->psql('postgres', 'SELECT idem_cleanup_now()',
		extra_params => [ '--set', 'VERBOSITY=verbose' ]);
	like($error, qr/ERROR:  55000: .*idem\.cleanup is off/, 'a visit cannot be had');
	let_pass($planned);
	is(items($node), 1, 'nothing happens');
	configure($node, 'idem.cleanup' => 'on');
	until_sql($node, 'postgres', 'SELECT count(*) FROM items', 0);
};

subtest 'databases not listed' => sub {
	my $odd = 'Order "History"';
	$node->safe_psql('postgres', 'CREATE DATABASE "Order ""History""" TEMPLATE copy');
	my $planned = plan_visit('later');
	configure($node, 'idem.cleanup_databases' => 'postgres, "Order ""History""", "Later"');
	until_sql($node, 'later', 'SHOW idem.cleanup_databases', 'postgres, "Order ""History""", "Later"');
	is(status($node, 'state', 'later'), 'not listed', 'the view says so');
	my ($status, $out, $error) = $node->psql('later', 'SELECT idem_cleanup_now()',
		extra_params => [ '--set', 'VERBOSITY=verbose' ]);
	like($error, qr/ERROR:  55000: .*idem\.cleanup_databases does not list it/, 'a visit cannot be had');
	for my $listed ('postgres', $odd)
	{
		fill_items($node, 1, $listed);
		$node->safe_psql($listed, 'SELECT idem_cleanup_now()');
		until_sql($node, $listed, 'SELECT count(*) FROM items', 0);
	}
	let_pass($planned);
	is(items($node, 'later'), 1, 'nothing happens there');
	configure($node, 'idem.cleanup_databases' => '');
	until_sql($node, 'later', 'SELECT count(*) FROM items', 0);
};

subtest 'a closed window' => sub {
	my $planned = plan_visit('later');
	my $window = closed_window();
	configure($node, 'idem.cleanup_window' => $window);
	until_sql($node, 'later', 'SHOW idem.cleanup_window', $window);
	until_sql($node, 'later',
		"SELECT next_run_at > now() + '1 hour' FROM idem_stat_cleanup WHERE relation = 'items'::regclass");
	is(status($node, 'state', 'later'), 'waiting', 'the view tells when it opens');
	let_pass($planned);
	is(items($node, 'later'), 1, 'nothing happens');
	fill_items($node, 1);
	$node->safe_psql('postgres', 'SELECT idem_cleanup_now()');
	until_sql($node, 'postgres', 'SELECT count(*) FROM items', 0);
	is(items($node, 'later'), 1, 'but on request, and only there');
	configure($node, 'idem.cleanup_window' => '');
	until_sql($node, 'later', 'SELECT count(*) FROM items', 0);
};

subtest 'batches' => sub {
	configure($node, 'idem.cleanup_batch' => 100);
	until_sql($node, 'postgres', 'SHOW idem.cleanup_batch', 100);
	my $before = status($node, 'batches');
	fill_items($node, 1000);
	$node->safe_psql('postgres', 'SELECT idem_cleanup_now()');
	until_sql($node, 'postgres', 'SELECT count(*) FROM items', 0);
	no_worker($node);
	is(status($node, "batches - $before"), 10, 'as large as the setting says');
	$node->safe_psql('postgres', "SELECT idem_expire_attach('items', 'expires', '0', batch => 50)");
	fill_items($node, 1000);
	$node->safe_psql('postgres', 'SELECT idem_cleanup_now()');
	until_sql($node, 'postgres', 'SELECT count(*) FROM items', 0);
	no_worker($node);
	is(status($node, "batches - $before"), 30, 'or as the table wants it');
};

subtest 'paused in the middle of the work, and across a restart' => sub {
	configure($node, 'idem.cleanup_batch' => 1);
	$node->safe_psql('postgres', "SELECT idem_expire_attach('items', 'expires', '0')");
	my $before = status($node, 'rows');
	fill_items($node, 100_000);
	$node->safe_psql('postgres', 'SELECT idem_cleanup_now()');
	until_sql($node, 'postgres',
		"SELECT rows > $before AND state = 'running' FROM idem_stat_cleanup WHERE relation = 'items'::regclass");
	$node->safe_psql('postgres', 'SELECT idem_cleanup_pause()');
	no_worker($node, 'postgres');
	my $left = items($node);
	cmp_ok($left, '>', 0, 'the worker leaves rows behind');
	is(status($node, 'state'), 'paused', 'the view says why');
	my ($status, $out, $error) = $node->psql('postgres', 'SELECT idem_cleanup_now()',
		extra_params => [ '--set', 'VERBOSITY=verbose' ]);
	like($error, qr/ERROR:  55000: .*cleanup is paused here/, 'a visit cannot be had');
	$node->restart;
	launcher($node);
	is(status($node, 'state'), 'paused', 'still so after a restart');
	fill_items($node, 1, 'later');
	$node->safe_psql('later', 'SELECT idem_cleanup_now()');
	until_sql($node, 'later', 'SELECT count(*) FROM items', 0);
	is(items($node), $left, 'while another database is cleaned up');
	configure($node, 'idem.cleanup_batch' => 1000);
	is($node->safe_psql('postgres', 'SELECT idem_cleanup_resume()'), 't', 'resumed');
	until_sql($node, 'postgres', 'SELECT count(*) FROM items', 0);
	is($node->safe_psql('postgres', 'SELECT idem_cleanup_resume()'), 'f', 'there is nothing to resume any more');
};

subtest 'a worker that is no longer wanted' => sub {
	my %unwanted = (
		'idem.cleanup' => [ 'off', 'on' ],
		'idem.cleanup_databases' => [ 'later', '' ],
		'idem.cleanup_window' => [ closed_window(), '' ]);
	for my $name (sort keys %unwanted)
	{
		my ($stop, $go) = @{ $unwanted{$name} };
		configure($node, 'idem.cleanup_batch' => 1);
		until_sql($node, 'postgres', 'SHOW idem.cleanup_batch', 1);
		fill_items($node, 100_000);
		# On request a closed window is passed.
		$node->safe_psql('postgres', $name =~ /window/ ? "SELECT idem_expire_attach('items', 'expires', '0')"
			: 'SELECT idem_cleanup_now()');
		wait_for(sub { items($node) < 100_000 }, 'work');
		configure($node, $name => $stop);
		no_worker($node, 'postgres');
		cmp_ok(items($node), '>', 0, "leaves with $name = '$stop'");
		configure($node, $name => $go, 'idem.cleanup_batch' => 1000);
		until_sql($node, 'postgres', 'SELECT count(*) FROM items', 0);
		no_worker($node, 'postgres');
	}
};

subtest 'shorter naps' => sub {
	configure($node, 'idem.cleanup_naptime' => '1h');
	until_sql($node, 'postgres', 'SHOW idem.cleanup_naptime', '1h');
	$node->safe_psql('postgres', 'SELECT idem_cleanup_now()');
	until_sql($node, 'postgres',
		"SELECT next_run_at > now() + '50 min' FROM idem_stat_cleanup WHERE relation = 'items'::regclass");
	no_worker($node, 'postgres');
	fill_items($node, 1);
	configure($node, 'idem.cleanup_naptime' => '1s');
	until_sql($node, 'postgres', 'SELECT count(*) FROM items', 0);
	pass('begin with the next reload');
};

subtest 'rows per second' => sub {
	no_worker($node, 'postgres');
	my ($rows, $batches) = split /\|/, status($node, 'rows, batches');
	configure($node, 'idem.cleanup_rows_per_second' => 10);
	until_sql($node, 'postgres', 'SHOW idem.cleanup_rows_per_second', 10);
	fill_items($node, 30);
	my $session = IdemTest::Session->new($node);
	$session->query('SELECT idem_cleanup_now();');
	my ($resting, $holding, $before) = (0, 0, '');
	wait_for(
		sub {
			my ($left, $wait, $transaction) = split /\|/, $session->query(<<"SQL");
SELECT $rows + 30 - rows, wait_event = 'Extension', coalesce(xact_start::text, backend_xmin::text, '')
FROM idem_stat_cleanup LEFT JOIN pg_stat_activity ON backend_type = 'pg_idem cleanup' AND datname = 'postgres'
WHERE relation = 'items'::regclass;
SQL
			if ($left > 0 && ($wait // '') eq 't')
			{
				$resting++;
				# The columns are not read in one moment: a transaction that is held is there twice.
				$holding++ if ($transaction // '') ne '' && $transaction eq $before;
			}
			$before = $transaction // '';
			$left == 0;
		},
		'the last of the rows');
	no_worker($node, 'postgres');
	cmp_ok($resting, '>', 0, 'the worker rests while rows are left');
	is($holding, 0, 'and then has no transaction open');
	is(status($node, "rows - $rows, batches - $batches"), '30|30', 'a batch is a small part of the rate');
	# Of the rows the first one is free, so nearly three seconds are due.
	is(status($node, "finished_at - started_at > '2 s'"), 't', 'it takes its time');
	$session->close;
};

subtest 'databases take turns' => sub {
	configure($node, 'idem.cleanup_rows_per_second' => 50, 'idem.cleanup_max_workers' => 1);
	until_sql($node, 'postgres', 'SHOW idem.cleanup_max_workers', 1);
	fill_items($node, 5000);
	$node->safe_psql('postgres', 'SELECT idem_cleanup_now()');
	wait_for(sub { workers($node, 'postgres') }, 'a worker');
	fill_items($node, 1, 'later');
	$node->safe_psql('later', 'SELECT idem_cleanup_now()');
	my $session = IdemTest::Session->new($node, 'later');
	my $most = 0;
	wait_for(
		sub {
			my ($left, $workers) = split /\|/, $session->query(<<'SQL');
SELECT (SELECT count(*) FROM items), count(*) FROM pg_stat_activity WHERE backend_type = 'pg_idem cleanup';
SQL
			$most = $workers if $workers > $most;
			$left == 0;
		},
		'the turn of the other database');
	cmp_ok(items($node), '>', 0, 'the other one does not wait for the end of the first one');
	cmp_ok($most, '<=', 1, 'with one worker at a time');
	$session->close;
};

$node->stop;
done_testing();
