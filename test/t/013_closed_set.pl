# Every function in every order from many sessions at once, on five keys whose leases and records run out within
# milliseconds: each call gives one of its documented answers or raises one of its documented errors, and none of
# them blames the caller for a race.
#
# IDEM_LOAD_CALLS says how many calls each of the sessions makes.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;

my $sessions = 16;
my $calls = $ENV{IDEM_LOAD_CALLS} // 5000;

# By function: what it may say while no record is ever removed.
my %answers = (
	begin => [qw(started replayed in_progress mismatch)],
	execute => [qw(finished replayed in_progress mismatch)],
	finish => [qw(finished already_finished ID410 ID412)],
	fail => [qw(failed already_failed ID410 ID412)],
	release => [qw(true false ID410)],
	extend => [qw(later ID410)],
	checkpoint => [qw(kept ID410)],
	resolve => [qw(retry finished ID409 ID412)],
	get => [qw(in_progress finished failed released none)]);
my %removals = (forget => [qw(true false ID409)], purge => [qw(purged)]);
# What a record that is gone adds to that.
my %gone = map { $_ => 'ID404' } qw(finish fail extend checkpoint resolve);

my $node = idem_node('closed', max_connections => 50, autovacuum_naptime => '1s');
$node->safe_psql('postgres', <<'SQL');
CREATE UNLOGGED TABLE said (phase text, level text, call text, answer text);
CREATE PROCEDURE call_at_random(phase text, calls text[], rounds int, direct text) LANGUAGE plpgsql AS $$
DECLARE
	tokens bigint[];
	key int;
	call text;
	level text;
	answer text;
	drawn bigint;
	body jsonb;
	print bytea;
	presented bigint;
	patience interval;
BEGIN
	PERFORM set_config('idem.direct_access', direct, false);
	FOR i IN 1 .. rounds LOOP
		key := 1 + floor(random() * 5);
		call := calls[1 + floor(random() * cardinality(calls))];
		level := CASE WHEN random() < 0.7 THEN 'READ COMMITTED' ELSE 'REPEATABLE READ' END;
		-- Of any size, so that new versions of a row need not fit on its page.
		body := to_jsonb((SELECT string_agg(md5(random()::text), '') FROM generate_series(0, (random() * 50)::int)));
		print := (ARRAY[NULL, '\x01', '\x02'])[1 + floor(random() * 3)]::bytea;
		presented := CASE WHEN random() < 0.8 THEN tokens[key] END;
		patience := (ARRAY[NULL, '0', '3 ms'])[1 + floor(random() * 3)]::interval;
		drawn := NULL;
		PERFORM set_config('default_transaction_isolation', level, false);
		COMMIT;
		BEGIN
			CASE call
				WHEN 'begin' THEN
					SELECT outcome, token INTO answer, drawn
						FROM idem_begin(key::text, fingerprint => print, lease => '1 ms', retain => '2 ms', wait => patience);
				WHEN 'execute' THEN
					SELECT outcome INTO answer
						FROM idem_execute(key::text, 'SELECT 1', fingerprint => print, retain => '2 ms', wait => patience);
				WHEN 'finish' THEN answer := idem_finish(key::text, body, token => presented);
				WHEN 'fail' THEN answer := idem_fail(key::text, body, token => presented);
				WHEN 'release' THEN answer := idem_release(key::text, token => presented);
				WHEN 'extend' THEN
					answer := CASE WHEN idem_extend(key::text, token => presented, lease => '1 ms') IS NOT NULL THEN 'later' END;
				WHEN 'checkpoint' THEN
					PERFORM idem_checkpoint(key::text, 'step', body, token => presented);
					answer := 'kept';
				WHEN 'resolve' THEN answer := idem_resolve(key::text, CASE WHEN random() < 0.5 THEN 'retry' ELSE 'finish' END);
				WHEN 'get' THEN answer := coalesce((SELECT status FROM idem_get(key::text)), 'none');
				WHEN 'forget' THEN answer := idem_forget(key::text, force => random() < 0.5);
				WHEN 'purge' THEN answer := CASE WHEN idem_purge(2) <= 2 THEN 'purged' END;
			END CASE;
		EXCEPTION WHEN OTHERS THEN
			answer := SQLSTATE;
		END;
		tokens[key] := coalesce(drawn, tokens[key]);
		INSERT INTO said VALUES (phase, level, call, answer);
	END LOOP;
END $$;
SELECT FROM generate_series(1, 5) AS key, idem_begin(key::text, lease => '1 us', retain => '1 us');
SQL

sub run
{
	my ($phase, $direct, @functions) = @_;
	my @running = map { IdemTest::Session->new($node) } 1 .. $sessions;
	$_->send("CALL call_at_random('$phase', '{" . join(',', @functions) . "}', $calls, '$direct');") for @running;
	my @failed = grep { $_ ne '' } map { $_->receive // 'lost' } @running;
	$_->close for @running;
	is("@failed", '', "$phase: every session came to its end");
	return;
}

sub judge
{
	my ($phase, $allowed) = @_;
	my $heard = $node->safe_psql('postgres',
		"SELECT level, call, coalesce(answer, 'NULL'), count(*) FROM said WHERE phase = '$phase' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3");
	note($heard);
	my (%heard, @unexpected);
	for my $line (split /\n/, $heard)
	{
		my ($level, $call, $answer) = split /\|/, $line;
		$heard{$call}{$answer} = 1;
		next if $level eq 'REPEATABLE READ' && $answer eq '40001';
		push @unexpected, $line unless grep { $_ eq $answer } @{ $allowed->{$call} };
	}
	is(join("\n", @unexpected), '', "$phase: nothing but documented answers");
	my @silent = grep { !$heard{begin}{$_} } @{ $allowed->{begin} };
	is("@silent", '', "$phase: all answers of idem_begin were heard");
	return;
}

for my $direct ('on', 'off')
{
	my $phase = "direct access $direct, records stay";
	run($phase, $direct, sort keys %answers);
	judge($phase, \%answers);
}

my %all = (%answers, %removals);
$all{$_} = [ @{ $all{$_} }, $gone{$_} ] for keys %gone;
for my $direct ('on', 'off')
{
	my $phase = "direct access $direct, records go";
	run($phase, $direct, sort keys %all);
	judge($phase, \%all);
}

done_testing();
