# The exit statuses of pgidem: those of the command, those of flock(1), those of sysexits.h.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;
use IdemTestTool;

my $node = pgidem_node('exits');

sub status { return (pgidem(@_))[0] }

# The command's own.
my $run = 0;
for my $command ('once', 'lock')
{
	my @name = $command eq 'once' ? ('exit', '{env:RUN}') : ('exit');
	for my $expected (0, 1, 2, 63, 64, 75, 127, 128, 254, 255)
	{
		local $ENV{RUN} = ++$run;
		is(status($command, @name, '--', 'sh', '-c', "exit $expected"), $expected, "$command: exit $expected");
	}
	for my $signal (qw(TERM KILL INT HUP ABRT USR1 SEGV))
	{
		local $ENV{RUN} = ++$run;
		my %number = (TERM => 15, KILL => 9, INT => 2, HUP => 1, ABRT => 6, USR1 => 10, SEGV => 11);
		is(status($command, @name, '--', 'sh', '-c', "ulimit -c 0; kill -$signal \$\$"),
			128 + $number{$signal}, "$command: killed by SIG$signal");
	}
	local $ENV{RUN} = ++$run;
	is(status($command, @name, '--', '/nowhere/nothing'), 127, "$command: no such command");
	is(status($command, @name, '--', '/etc'), 126, "$command: a command that cannot be executed");
	like((pgidem($command, @name, '--', '/nowhere/nothing'))[2], qr{cannot run "/nowhere/nothing": No such file},
		'which is said');
}
is($node->safe_psql('postgres', q{SELECT count(*) FROM idem_records WHERE status = 'in_progress'}), '0',
	'nothing is left claimed or locked');

# Somebody else has it.
$node->safe_psql('postgres', q{SELECT FROM idem_lock('taken', '1 h'); SELECT FROM idem_begin('taken:1', 'pgidem', lease => '1 h')});
for my $command ([ 'lock', 'taken' ], [ 'once', 'taken', '1' ])
{
	my $name = $command->[0];
	is_deeply([ pgidem(@$command, '--', 'echo', 'ran') ], [ 1, '', '' ], "$name: 1, silently, when it is taken");
	for my $code (0, 1, 99, 255)
	{
		is(status(@$command, '-E', $code, '--', 'echo'), $code, "$name: -E $code");
	}
	is(status(@$command, '--conflict-exit-code=77', '--nonblock', '--', 'echo'), 77, "$name: --conflict-exit-code=77");
	is(status(@$command, '--wait', '100ms', '-E', '88', '--', 'echo'), 88, "$name: also after a wait");
	like((pgidem(@$command, '-v', '--', 'echo'))[2], qr/by .* for .* unless it is renewed/,
		"$name: -v says who has it");
	like((pgidem(@$command, '--json', '--', 'echo'))[2], qr/\A\{"event":"conflict",.*"retry_after_seconds":3[0-9.]+,.*\}\n\z/,
		"$name: and --json for how long");
}

# A code that cannot be an exit status is refused, and nothing is run.
for my $code ('256', '600', '-1', '1x', 'x', '', ' 1', '1 ', '+1', '0x10', '1.0', '999999999999999999999')
{
	my ($status, $out, $err) = pgidem('lock', "--conflict-exit-code=$code", 'free', '--', 'echo', 'ran');
	is("$status $out", '64 ', "-E \"$code\" is refused");
	like($err, qr/\Apgidem: /, 'with a message');
	is((pgidem('lock', '-E', $code, 'free', '--', 'echo', 'ran'))[0], 64, 'as a word of its own, too');
}

# Command lines that are not right.
my @wrong = (
	[],
	['nothing'],
	['once'],
	[ 'once', 'a',      'b' ],
	[ 'once', 'a',      'b', '--' ],
	[ 'once', 'a',      '--', 'echo' ],
	[ 'once', 'a',      '', '--', 'echo' ],
	[ 'once', '--key',  'k', 'a', 'b', '--', 'echo' ],
	[ 'once', 'a',      'b', 'c', '--', 'echo' ],
	[ 'once', '--wait', '1', '--nonblock', 'a', 'b', '--', 'echo' ],
	[ 'once', '--wait', 'x', 'a', 'b', '--', 'echo' ],
	[ 'once', '--wait', '-1', 'a', 'b', '--', 'echo' ],
	[ 'once', '--lease', '0', 'a', 'b', '--', 'echo' ],
	[ 'once', '--lease', '500ms', 'a', 'b', '--', 'echo' ],
	[ 'once', '--retry', '-1', 'a', 'b', '--', 'echo' ],
	[ 'once', '--backoff', '2s..1s', 'a', 'b', '--', 'echo' ],
	[ 'once', '--on-done', 'perhaps', 'a', 'b', '--', 'echo' ],
	[ 'once', '--if-unavailable', 'hope', 'a', 'b', '--', 'echo' ],
	[ 'once', '--store-output', '1T', 'a', 'b', '--', 'echo' ],
	[ 'once', '--no-such-option', 'a', 'b', '--', 'echo' ],
	[ 'once', '--scope', 'x' x 129, 'a', 'b', '--', 'echo' ],
	[ 'once', 'a', 'x' x 513, '--', 'echo' ],
	[ 'lock', '--', 'echo' ],
	[ 'lock', '',   '--', 'echo' ],
	[ 'lock', 'a' ],
	[ 'lock', '--data', '{', 'a', '--', 'echo' ],
	['get'],
	[ 'get', 'a', '--', 'echo' ],
	[ 'resolve', 'a' ],
	[ 'resolve', 'a', 'perhaps' ],
	[ 'resolve', '--code', '1', 'a', 'retry' ],
	[ 'top', '--once', '-n', '2' ],
	[ 'top', '-n', '0' ]);
for my $words (@wrong)
{
	my ($status, $out, $err) = pgidem(@$words);
	is("$status $out", '64 ', "refused: pgidem @{[ map { length > 20 ? 'x...' : qq('$_') } @$words ]}");
	like($err, qr/\Apgidem: .+\n\z/, 'in one line');
}

# What is asked for is no error.
for my $words (['--help'], ['--version'], map { [ $_, '--help' ] } qw(once lock get forget resolve locks stat top))
{
	my ($status, $out, $err) = pgidem(@$words);
	is("$status $err", '0 ', "pgidem @$words");
	isnt($out, '', 'prints something');
}

# Rights.
$node->safe_psql('postgres', q{CREATE ROLE nobody LOGIN; CREATE ROLE app LOGIN; SELECT idem_grant('app')});
{
	local $ENV{PGUSER} = 'nobody';
	is(status('lock', 'mine', '--', 'echo'), 77, 'a role without rights');
}
{
	local $ENV{PGUSER} = 'app';
	is_deeply([ pgidem('lock', 'mine', '--', 'echo', 'ran') ], [ 0, "ran\n", '' ], 'an application may lock');
	is_deeply([ pgidem('once', 'mine', '1', '--', 'echo', 'ran') ], [ 0, "ran\n", '' ], 'and claim');
	is(status('get', 'mine:1'), 0, 'and look at a record');
	is(status('forget', 'mine:1'), 77, 'but not forget one');
	is(status('stat'), 77, 'nor count them');
}

# The database is found by every means of libpq.
my $connstr = $node->connstr('postgres');
delete local @ENV{qw(PGHOST PGPORT PGDATABASE)};
is(status('get', '-d', $connstr, 'exit:1'), 0, '-d with key words and values');
my $host = $node->host;
$host =~ s/([^A-Za-z0-9])/sprintf '%%%02X', ord $1/ge;
is(status('get', "--dbname=postgresql://$host:" . $node->port . '/postgres', 'exit:1'), 0, '-d with a URI');
open my $service, '>', scratch('service') or die;
print $service "[here]\nhost=" . $node->host . "\nport=" . $node->port . "\ndbname=postgres\n";
close $service;
local $ENV{PGSERVICEFILE} = scratch('service');
is(status('get', '-d', 'service=here', 'exit:1'), 0, '-d with a service');
local $ENV{PGSERVICE} = 'here';
is(status('get', 'exit:1'), 0, 'PGSERVICE');
is(status('get', '-d', 'nowhere', 'exit:1'), 69, 'a database that is not there');

done_testing();
