# locks, stat and top: tables for people, JSON for machines, in any schema.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;
use IdemTestTool;

my $node = pgidem_node('views');
$node->safe_psql('postgres', q{DROP EXTENSION pg_idem; CREATE SCHEMA "odd name"; CREATE EXTENSION pg_idem SCHEMA "odd name"});

# Names of the catalog that stand in front must not be taken for the real ones.
$node->safe_psql('postgres', q{CREATE FUNCTION public.date_part(text, interval) RETURNS float8 LANGUAGE sql AS 'SELECT 1/0';
	CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT NULL::timestamptz';
	ALTER DATABASE postgres SET search_path = public, pg_catalog});

sub sql
{
	my ($statement) = @_;
	return $node->safe_psql('postgres', qq{SET search_path = "odd name"; $statement});
}

sub lines { return map { decode_json($_) } split /\n/, shift }

is((pgidem('locks'))[1], "NAME  KIND  HOLDER  TOKEN  SINCE  ENDS IN  PID  WAITERS\n", 'no locks');
sql(q{SELECT FROM idem_lock('alpha', '1 h', owner => 'somebody', data => '{"a": 1}');
	SELECT FROM idem_lock(E'evil\x1b[2J\nname', '1 h', owner => 'x');
	SELECT FROM idem_begin('run-1', 'web', lease => '1 h', owner => 'worker');
	SELECT FROM idem_begin('run-2', 'web', lease => '1 us');
	SELECT FROM idem_begin('run-3', 'web'); SELECT idem_finish('run-3', scope => 'web');
	SELECT FROM idem_begin('run-4', 'mail')});

my ($status, $out, $err) = pgidem('locks');
is("$status $err", '0 ', 'locks');
like($out, qr/^alpha +durable +somebody +\d+ +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\S+ +(?:1 h|59 min \d+ s) +0$/m, 'shows a lock');
like($out, qr/^evil\?\[2J\?name +durable/m, 'and nothing that a terminal would obey');
my @locks = lines((pgidem('locks', '--json'))[1]);
is_deeply([ map { $_->{name} } @locks ], [ 'alpha', "evil\x1b[2J\nname" ], 'JSON has the names as they are');
is($locks[0]{data}{a}, 1, 'and the data');

($status, $out, $err) = pgidem('stat');
is("$status $err", '0 ', 'stat');
like($out, qr/^SCOPE +STATUS +COUNT +EXPIRED +OLDEST +MOST ATTEMPTS\nidem\.lock +in_progress +2 .*\nmail +in_progress +1 .*\nweb +abandoned +1 .*\nweb +finished +1 .*\nweb +in_progress +1 /,
	'counts by scope and status');
like($out, qr/^RELATION +ACTION +STATE /m, 'and shows what cleanup does');
unlike((pgidem('stat', '--scope', 'mail'))[1], qr/^web/m, 'of one scope, if that is wanted');
my %kinds;
$kinds{ $_->{kind} }++ for lines((pgidem('stat', '--json'))[1]);
is($kinds{records}, 5, 'JSON has the same rows');

($status, $out, $err) = pgidem('top', '--once');
is("$status $err", '0 ', 'top --once ends without a terminal');
like($out, qr/\Apgidem top  \d.*locks: 2  in progress: 3\n\nNAME +KIND.*\nSCOPE +KEY +OWNER.*^web +run-1 +worker +1 .*^web +run-2 .* over$/ms,
	'and shows locks and records in progress');
unlike($out, qr/\x1b/, 'without commands for a terminal');
is(() = (pgidem('top', '-n', '3', '--delay', '100ms'))[1] =~ /^pgidem top/mg, 3, 'shows three pages');
my @pages = lines((pgidem('top', '-n', '2', '--delay', '100ms', '--json', '--scope', 'mail'))[1]);
is(scalar @pages, 2, 'or as many JSON objects');
is_deeply([ map { $_->{key} } @{ $pages[0]{records} } ], ['run-4'], 'of one scope');
my $top = start('top', '--delay', '1h');
$top->wait_for_file($top->{stdout}, qr/run-1/);
$top->signal('TERM');
is($top->finish, 143, 'a signal ends it');

# A lock and a run of pgidem itself are seen while they are there.
my $run = start('lock', '--data', '{"host": "me"}', 'mine', '--', 'sh', '-c', 'echo ready; exec sleep 1000');
$run->wait_for_file($run->{stdout}, qr/ready/);
my ($mine) = grep { $_->{name} eq 'mine' } lines((pgidem('locks', '--json'))[1]);
my $pid = $run->pid;
like($mine->{holder}, qr/\A\S+\@\S+:$pid\/[0-9a-f]{8}\z/, 'the holder is user@host:pid');
is($mine->{data}{host}, 'me', 'with its data');
$run->signal('TERM');
$run->finish;

done_testing();
