# A duplicate is no error: whatever answer it gets, the server's log stays free of errors and its transaction
# goes on.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;

my $node = idem_node('quiet');
my $position = log_since($node);

my $first = IdemTest::Session->new($node);
$first->query("SELECT FROM idem_begin('live', fingerprint => '\\x01');");
$first->query("SELECT FROM idem_begin('done'); SELECT idem_finish('done', '1');");
$first->query("SELECT idem_scope_set('careful', on_abandoned => 'hold');");
$first->query("SELECT idem_scope_set('limited', max_attempts => 1);");
$first->query("SELECT FROM idem_begin('lost', 'careful', lease => '1 us');");
$first->query("SELECT FROM idem_begin('lost', 'limited', lease => '1 us');");
$first->query("BEGIN; SELECT FROM idem_begin('open');");

my @duplicates = (
	[ "'live'", 'in_progress' ],
	[ "'live', wait => '5 ms'", 'in_progress' ],
	[ "'live', fingerprint => '\\x02'", 'mismatch' ],
	[ "'done'", 'replayed' ],
	[ "'lost', 'careful'", 'held' ],
	[ "'lost', 'limited'", 'exhausted' ],
	[ "'open', wait => '0'", 'in_progress' ],
	[ "'open', wait => '5 ms'", 'in_progress' ]);

for my $direct ('on', 'off')
{
	my $second = IdemTest::Session->new($node);
	$second->query("SET idem.direct_access = $direct; BEGIN;");
	for my $duplicate (@duplicates)
	{
		my ($arguments, $outcome) = @$duplicate;
		is($second->query("SELECT outcome FROM idem_begin($arguments);"), $outcome, "direct access $direct: $arguments");
	}
	is($second->query("SELECT outcome FROM idem_execute('live', 'SELECT 1');"), 'in_progress', 'idem_execute');
	is($second->query('SELECT 1; COMMIT;'), '1', 'the transaction of the duplicates commits');
	$second->close;
}
$first->query('COMMIT;');
$first->close;

my @complaints = grep { /(?:ERROR|FATAL|PANIC|WARNING):/ } split /\n/, log_since($node, $position);
is(join("\n", @complaints), '', 'nothing of it is in the log');

done_testing();
