# pgidem once: a run is done once, and whoever asks again is told how it ended.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;
use IdemTestTool;

my $node = pgidem_node('once');

sub once { return pgidem('once', @_) }

sub record
{
	my ($key, $columns, $scope) = @_;
	return $node->safe_psql('postgres', "SELECT $columns FROM idem_get('$key', '" . ($scope // 'pgidem') . "')");
}

# Done once.
is_deeply([ once('report', 'monday', '--', 'echo', 'works') ], [ 0, "works\n", '' ], 'a run is done, silently');
is(record('report:monday', 'status, code, result->>\'exit\''), 'finished|0|0', 'and recorded');
is_deeply([ once('report', 'monday', '--', 'echo', 'works') ], [ 0, '', '' ], 'and not done again');
is((once('--on-done', 'skip', 'report', 'monday', '--', 'echo'))[0], 0, 'which is success');
is((once('--on-done', 'fail', 'report', 'monday', '--', 'echo'))[0], 3, 'unless it shall not be');
like((once('-v', 'report', 'monday', '--', 'echo'))[2], qr/"report:monday" is already done, with exit status 0/,
	'-v says so');
is((once('report', 'tuesday', '--', 'false'))[0], 1, 'a failure is passed on');
is(record('report:tuesday', 'status'), 'released', 'and the run given back');
is_deeply([ once('report', 'tuesday', '--', 'echo', 'again') ], [ 0, "again\n", '' ], 'so that the next caller does it');

# Keys: parts are told apart, templates are expanded, a whole key is taken as it is.
once('a:b', 'c', '--', 'true');
is(record('a%3Ab:c', 'status'), 'finished', 'a separator inside a part is escaped');
once('--key', 'a:b:c', '--scope', 'other', '--', 'true');
is(record('a:b:c', 'status', 'other'), 'finished', 'a key is taken whole, in a scope');
my $today = $node->safe_psql('postgres', q{SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD')});
once('--utc', 'daily', '{date}', '--', 'true');
my $tomorrow = $node->safe_psql('postgres', q{SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD')});
ok(record("daily:$today", 'status') || record("daily:$tomorrow", 'status'), '{date} is today');
is((once('daily', '{dat}', '--', 'true'))[0], 64, 'a template that stands for nothing is refused');

# What the command knows.
my (undef, $environment) = once('knows', '1', '--', 'sh', '-c', 'env | grep ^PGIDEM | sort');
like($environment, qr/\APGIDEM_ATTEMPT=1\nPGIDEM_KEY=knows:1\nPGIDEM_RUN=1\nPGIDEM_SCOPE=pgidem\nPGIDEM_TOKEN=\d+\n\z/,
	'the command finds its claim in its environment');

# Output is kept, as far as it was allowed.
is_deeply([ once('--store-output', '1k', 'output', '1', '--', 'sh', '-c', 'echo out; echo err >&2') ],
	[ 0, "out\n", "err\n" ], 'output is passed on');
is_deeply([ once('output', '1', '--', 'false') ], [ 0, "out\n", "err\n" ], 'and printed for whoever asks again');
my ($status, $out, $err) =
  once('--store-output', '1000', 'output', '2', '--', 'perl', '-e', 'print "x" x 300000; print STDERR "y" x 300000');
is("$status " . length($out) . ' ' . length($err), '0 300000 300000', 'much output is passed on whole');
($status, $out, $err) = once('output', '2', '--', 'false');
is("$status " . length($out), '0 1000', 'and its beginning kept');
like($err, qr/^y{1000}pgidem: the stored output of "output:2" is only its beginning$/, 'which is said');
is(record('output:2', q{result->>'truncated'}), 'true', 'in the record, too');
my $bytes = join '', map { chr } 0 .. 255;
once('--store-output', '1k', 'output', '3', '--', 'perl', '-e', 'print map { chr } 0 .. 255');
is((once('output', '3', '--', 'false'))[1], $bytes, 'bytes that are no text come back');
$node->safe_psql('postgres', q{SELECT idem_scope_set('small', max_result_bytes => 400)});
is((once('--scope', 'small', '--store-output', '1M', 'output', '4', '--', 'perl', '-e', 'print "z" x 5000'))[0],
	0, 'output that the scope has no room for');
is(record('output:4', q{status, result->>'truncated'}, 'small'), 'finished|true', 'costs the output, not the record');
ok(length((once('--scope', 'small', 'output', '4', '--', 'false'))[1]) > 0, 'and not even all of it');

# Failures that are final.
is((once('--on-failure', 'store', '--store-output', '1k', 'final', '1', '--', 'sh', '-c', 'echo no; exit 42'))[0],
	42, 'a failure is passed on');
is(record('final:1', 'status, code'), 'failed|42', 'and stored');
is_deeply([ once('final', '1', '--', 'true') ], [ 42, "no\n", '' ], 'and given to whoever asks again');

# Attempts.
my $tries = scratch('tries');
($status, undef, $err) =
  once('-v', '--retry', '3', '--backoff', '1ms..2ms', 'try', '1', '--', 'sh', '-c',
	"echo x >>$tries; [ \$(wc -l <$tries) = 3 ]");
is($status, 0, 'a command that succeeds at last succeeds');
is(content($tries), "x\nx\nx\n", 'it was run until then');
is(() = $err =~ /running it again/g, 2, 'and -v says how often again');
is(record('try:1', 'status, attempt'), 'finished|1', 'under one claim');
is((once('--retry', '2', '--backoff', '1ms', 'try', '2', '--', 'sh', '-c', "echo y >>$tries; exit 9"))[0],
	9, 'a command that always fails fails');
is(() = content($tries) =~ /y/g, 3, 'after so many repetitions');
is((once('--retry', '5', '--backoff', '1ms', '--store-output', '10', 'try', '3', '--', 'sh', '-c',
			"echo \$\$ ; echo z >>$tries; [ \$(grep -c z $tries) = 2 ]"))[0], 0, 'with output kept');
my ($kept) = (once('try', '3', '--', 'false'))[1] =~ /\A(\d+)\n\z/;
ok($kept, 'only that of the last attempt is');

my $left = scratch('left');
once('--retry', '1', '--backoff', '1ms', 'try', '4', '--', 'sh', '-c', "setsid sleep 1000 & echo \$! >>$left; exit 1");
my @left = split /\n/, content($left);
is(join(' ', map { alive($_) ? 'alive' : 'gone' } @left), 'gone alive', 'what an attempt leaves behind ends before the next');
kill 'KILL', $left[1];

# Numbered reruns.
my @numbers = map { (once('--rerun', 'report', 'monday', '--', 'sh', '-c', 'echo $PGIDEM_RUN $PGIDEM_KEY'))[1] } 1 .. 2;
is_deeply(\@numbers, [ "2 report:monday:2\n", "3 report:monday:3\n" ], 'a rerun has the next number');
is((once('--rerun', 'report', 'monday', '--', 'false'))[0], 1, 'a rerun that fails');
like((once('-v', '--rerun', 'report', 'monday', '--', 'true'))[2], qr/run number 4/, 'does not use its number up');
is((once('--rerun', 'report', 'never', '--', 'sh', '-c', 'exit $PGIDEM_RUN'))[0], 1, 'a run not done yet is number 1');
once('--key', 'whole', '--', 'true');
is((once('--rerun', '--key', 'whole', '--', 'sh', '-c', 'echo $PGIDEM_KEY'))[1], "whole/2\n", 'a whole key is numbered as well');

# Fingerprints.
once('--fingerprint', 'one', 'print', '1', '--', 'true');
is((once('--fingerprint', 'one', 'print', '1', '--', 'false'))[0], 0, 'the same fingerprint');
is((once('--fingerprint', 'two', 'print', '1', '--', 'true'))[0], 65, 'another one');

# Abandoned work that an operator has to decide about.
$node->safe_psql('postgres', q{SELECT idem_scope_set('careful', on_abandoned => 'hold');
	SELECT idem_scope_set('thrice', max_attempts => 1);
	SELECT FROM idem_begin('job:1', 'careful', lease => '1 us'); SELECT FROM idem_begin('job:1', 'thrice', lease => '1 us')});
($status, undef, $err) = once('--scope', 'careful', 'job', '1', '--', 'true');
is($status, 4, 'work that is held is not done');
like($err, qr/"job:1" is not run: .*pgidem resolve/, 'and that is said');
($status, undef, $err) = once('--scope', 'thrice', 'job', '1', '--', 'true');
is($status, 4, 'nor is work that was attempted too often');
is_deeply([ pgidem('resolve', '--scope', 'careful', 'job:1', 'retry') ], [ 0, "retry\n", '' ], 'an operator decides');
is((once('--scope', 'careful', 'job', '1', '--', 'sh', '-c', 'exit $((PGIDEM_ATTEMPT + 10))'))[0], 12, 'then it is');
is((pgidem('resolve', '--scope', 'thrice', '--code', '7', '--result', '"by hand"', 'job:1', 'fail'))[0],
	0, 'a failure is decided');
is((once('--scope', 'thrice', 'job', '1', '--', 'true'))[0], 7, 'and its code is the exit status');

# Records by their keys.
like((pgidem('get', 'report:monday'))[1], qr/^status: +finished$/m, 'get shows a record');
like((pgidem('get', '--json', 'report:monday'))[1], qr/\A\{.*"status":"finished".*\}\n\z/, 'also as JSON');
is_deeply([ pgidem('get', 'nothing') ], [ 66, '', qq{pgidem: no record of key "nothing" in scope "pgidem"\n} ],
	'or says that there is none');
is_deeply([ pgidem('forget', 'report:monday') ], [ 0, "forgotten\n", '' ], 'forget deletes it');
is((pgidem('forget', 'report:monday'))[0], 66, 'once');
is((once('report', 'monday', '--', 'sh', '-c', 'exit 5'))[0], 5, 'then the run starts anew');
$node->safe_psql('postgres', q{SELECT FROM idem_begin('live', 'pgidem')});
is((pgidem('forget', 'live'))[0], 70, 'live work is not forgotten');
is((pgidem('forget', '--force', 'live'))[0], 0, 'but by force');
is((pgidem('resolve', 'nothing', 'retry'))[0], 66, 'resolve wants a record');

# For machines.
(undef, undef, $err) = once('--json', 'machine', '1', '--', 'true');
my @events = map { /^\{"event":"(\w+)".*"message":".*"\}$/ ? $1 : "no event: $_" } split /\n/, $err;
is("@events", 'started running exited finished', 'every line of --json is an event');

done_testing();
