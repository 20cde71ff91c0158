# Those who wait for a committed lock: in the order in which they came, woken at once where the library is preloaded and
# looking often where it is not, whoever of them dies, and however many they are.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes 'time';
use IdemTest;

# Whoever is to be woken looks once a second all the same. A wait of more than half of that would show that nobody is.
my $prompt = 0.5;

# More than can be woken; the others look again and again.
my $many = 300;

sub sessions
{
	my ($node, $count) = @_;
	return map { IdemTest::Session->new($node) } 1 .. $count;
}

sub line_is
{
	my ($node, $count) = @_;
	return wait_until($node, "count(*) = $count FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 475", "$count in the line");
}

# Sends a request for the lock, and waits until it stands in the line as number so and so.
sub stand
{
	my ($node, $session, $place, $wait) = @_;
	$session->backend;
	$session->send("SELECT token FROM idem_lock('line', '1 hour', wait => $wait);");
	return line_is($node, $place);
}

sub median
{
	my @sorted = sort { $a <=> $b } @_;
	return $sorted[ @sorted / 2 ];
}

# What takes a key, waits for it and gives it back.
my @ways = (
	[ "idem_lock('handed', '1 hour')", "idem_lock('handed', '1 hour', wait => NULL)", "idem_unlock('handed')" ],
	[ "idem_lock('handed', '1 hour')", "idem_lock('handed', '1 hour', wait => '1 hour')", "idem_unlock('handed', at_least => '1 us')" ],
	[ "idem_begin('handed', lease => '1 hour')", "idem_begin('handed', wait => '1 hour')", "idem_release('handed')" ]);

# How long it takes until another session, which is asleep, has what is given back.
sub hand_over
{
	my ($node, $holder, $waiter, $way) = @_;
	my ($take, $wait, $give_back) = @$way;
	$holder->query("SELECT FROM $take;");
	$waiter->backend;
	$waiter->send("SELECT extract(epoch FROM clock_timestamp()) FROM $wait;");
	wait_until($node,
		'wait_event_type = \'Extension\' FROM pg_stat_get_activity(' . $waiter->backend . ')', 'the waiter sleeps');
	my $released = $holder->query("SELECT extract(epoch FROM clock_timestamp()) FROM $give_back;");
	my $taken = $waiter->receive;
	$waiter->query("SELECT $give_back;");
	return $taken - $released;
}

sub check_hand_overs
{
	my ($node) = @_;
	my ($holder, $waiter) = sessions($node, 2);
	for my $direct ('on', 'off')
	{
		$_->query("SET idem.direct_access = $direct;") for $holder, $waiter;
		for my $way (@ways)
		{
			my $median = median(map { hand_over($node, $holder, $waiter, $way) } 1 .. 9);
			cmp_ok($median, '<', $prompt, "direct access $direct: $way->[1] has what is given back within $median s");
		}
	}
	$_->close for $holder, $waiter;
	return;
}

my $turn = 0;
sub one_in_turn { return ("'1 hour'", 'NULL')[ $turn++ % 2 ]; }

# Eight wait. The first, the fourth and the last are terminated, cancelled and timed out; the rest are served in order.
sub check_order
{
	my ($node) = @_;
	my ($holder, @waiters) = sessions($node, 9);
	$holder->query("SELECT FROM idem_lock('line', '1 hour');");
	$waiters[7]->query("SET statement_timeout = '10 s';");
	stand($node, $waiters[ $_ - 1 ], $_, one_in_turn()) for 1 .. 8;
	is($node->safe_psql('postgres', "SELECT waiters FROM idem_locks WHERE name = 'line'"), '8', 'idem_locks counts eight');
	is($node->safe_psql('postgres', "SELECT acquired FROM idem_lock('line', '1 hour')"), 'f', 'nobody else gets in between');
	$node->safe_psql('postgres', "SELECT pg_terminate_backend(" . $waiters[0]->backend . ')');
	$node->safe_psql('postgres', "SELECT pg_cancel_backend(" . $waiters[3]->backend . ')');
	is($waiters[3]->receive, 'ERROR:  57014', 'one in the middle is cancelled');
	is($waiters[7]->receive, 'ERROR:  57014', 'the last one runs out of time');
	line_is($node, 5);
	my $giver = $holder;
	my $last = 0;
	for my $number (2, 3, 5, 6, 7)
	{
		$giver->query("SELECT idem_unlock('line');");
		$giver = $waiters[ $number - 1 ];
		my $token = $giver->receive;
		cmp_ok($token, '>', $last, "number $number is next");
		$last = $token;
		is($node->safe_psql('postgres', "SELECT pid FROM idem_locks WHERE name = 'line'"), '', 'a durable lock has no process')
		  if $number == 2;
	}
	is($giver->query("SELECT idem_unlock('line');"), 't', 'the last one gives it back');
	line_is($node, 0);
	$_->close for $holder, @waiters;
	return;
}

# idem_begin serves its waiters in order as well.
sub check_begin
{
	my ($node) = @_;
	my ($owner, @waiters) = sessions($node, 4);
	$owner->query("SELECT FROM idem_begin('work', lease => '1 hour');");
	for my $number (1 .. 3)
	{
		$waiters[ $number - 1 ]->send("SELECT outcome, result FROM idem_begin('work', wait => '1 hour');");
		line_is($node, $number);
	}
	$owner->query("SELECT idem_release('work');");
	is($waiters[0]->receive, 'started|', 'idem_begin: the first one is next');
	line_is($node, 2);
	$waiters[0]->query("SELECT idem_finish('work', '1');");
	is($waiters[ $_ - 1 ]->receive, 'replayed|1', "number $_ gets the result") for 2, 3;
	$_->close for $owner, @waiters;
	return;
}

# Each of many locks has somebody who waits for it. All are given back in one transaction.
sub check_many
{
	my ($node) = @_;
	my @waiters = sessions($node, $many);
	my $holder = IdemTest::Session->new($node);
	is($holder->query("SELECT count(*) FROM generate_series(1, $many) AS i, idem_lock('many-' || i, '1 hour') WHERE acquired;"),
		$many, "$many locks are taken");
	$waiters[ $_ - 1 ]->send("SELECT acquired FROM idem_lock('many-$_', '1 hour', wait => '1 hour');") for 1 .. $many;
	line_is($node, $many);
	$holder->query("SELECT idem_unlock('many-' || i) FROM generate_series(1, $many) AS i;");
	my $served = grep { $_->receive eq 't' } @waiters;
	is($served, $many, "$many that wait for different locks are all served");
	line_is($node, 0);
	$_->close for $holder, @waiters;
	return;
}

# How often a session looks at a lock that it cannot have for two seconds.
sub looks
{
	my ($session) = @_;
	$session->query('BEGIN; SET LOCAL idem.direct_access = off;');
	is($session->query("SELECT acquired FROM idem_lock('taken', '1 hour', wait => '2 s');"), 'f', 'a lock is waited for in vain');
	my $looks = $session->query("SELECT pg_stat_get_xact_numscans('idem_records_pkey'::regclass);");
	$session->query('ROLLBACK;');
	return $looks;
}

# Waits that end in an error, or in a savepoint that is rolled back, leave nothing behind that is needed for waking.
sub check_errors
{
	my ($node) = @_;
	$node->safe_psql('postgres', "SELECT FROM idem_lock('taken', '1 hour')");
	my $session = IdemTest::Session->new($node);
	my $fresh = looks($session);
	cmp_ok($fresh, '<', 15, "whoever will be woken looks seldom: $fresh times");
	for my $setting ('lock_timeout', 'statement_timeout')
	{
		$session->query("SET $setting = '5 ms';");
		my $answer = $session->query("SELECT acquired FROM idem_lock('taken', '1 hour', wait => NULL);" x $many);
		is(scalar(() = $answer =~ /ERROR:  (?:55P03|57014)/g), $many, "$many waits end by $setting");
		$session->query("RESET $setting;");
	}
	is( $session->query(
			"DO \$\$ BEGIN
				SET LOCAL lock_timeout = '5 ms';
				FOR i IN 1 .. $many LOOP
					BEGIN
						PERFORM idem_lock('taken', '1 hour', wait => NULL);
						RAISE 'acquired';
					EXCEPTION WHEN lock_not_available THEN NULL;
					END;
				END LOOP;
			END \$\$;"),
		'', "$many more in one transaction");
	my $after = looks($session);
	cmp_ok($after, '<', 15, "and whoever will be woken still looks seldom: $after times");
	$session->close;
	return;
}

# Two limits are over when a process that was held up looks at the clock again: the shorter one counts.
sub check_limits
{
	my ($node) = @_;
	$node->safe_psql('postgres', "SELECT FROM idem_lock('limited', '1 hour')");
	my $session = IdemTest::Session->new($node);
	my $pid = $session->backend;
	for my $limits ([ '1 s', '2 s', 'ERROR:  55P03' ], [ '2 s', '1 s', 'f' ])
	{
		my ($lock_timeout, $wait, $answer) = @$limits;
		$session->query("SET lock_timeout = '$lock_timeout';");
		$session->send("SELECT acquired FROM idem_lock('limited', '1 hour', wait => '$wait');");
		wait_until($node, "query ~ 'wait => .$wait' AND (wait_event_type = 'Extension' OR state = 'idle')
			FROM pg_stat_get_activity($pid)", 'the waiter sleeps');
		my $start = $node->safe_psql('postgres', "SELECT extract(epoch FROM query_start) FROM pg_stat_get_activity($pid)");
		kill 'STOP', $pid or die "kill: $!";
		wait_for(sub { time > $start + 2.1 }, 'both limits are over');
		kill 'CONT', $pid or die "kill: $!";
		is($session->receive, $answer, "lock_timeout $lock_timeout, wait $wait");
	}
	$session->close;
	return;
}

my %settings = (max_connections => $many + 50, 'idem.direct_access' => 'on');
my $node = idem_node('woken', %settings, shared_preload_libraries => 'pg_idem', 'idem.cleanup_naptime' => '1d');
subtest 'preloaded: order' => sub { check_order($node) };
subtest 'preloaded: idem_begin' => sub { check_begin($node) };
subtest 'preloaded: many' => sub { check_many($node) };
subtest 'preloaded: errors' => sub { check_errors($node) };
subtest 'preloaded: limits' => sub { check_limits($node) };
subtest 'preloaded: hand-overs' => sub { check_hand_overs($node) };
$node->stop;

$node = idem_node('looking', max_connections => 50);
subtest 'not preloaded: order' => sub { check_order($node) };
subtest 'not preloaded: idem_begin' => sub { check_begin($node) };
subtest 'not preloaded: hand-overs' => sub { check_hand_overs($node) };

done_testing();
