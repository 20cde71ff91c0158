# A million ids in eight sessions while the clock is set back, again and again, and ids are set ahead of it. Without
# a number for the server there are none.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;

use constant { SESSIONS => 8, TRANSACTIONS => 250, IDS => 500 };

my ($faketime) = glob '/usr/lib/*/faketime/libfaketime.so.1';
my $clock = PostgreSQL::Test::Utils::tempdir() . '/clock';

# By how many seconds the server's clock is wrong.
sub set_clock
{
	my ($offset) = @_;
	return unless $faketime;
	open my $file, '>', "$clock.new" or die $!;
	printf $file "%+d\n", $offset;
	close $file;
	rename "$clock.new", $clock or die $!;
	return;
}

sub start
{
	my ($node) = @_;
	local %ENV = %ENV;
	if ($faketime)
	{
		$ENV{LD_PRELOAD} = $faketime;
		$ENV{FAKETIME_TIMESTAMP_FILE} = $clock;
		$ENV{FAKETIME_NO_CACHE} = 1;
		# Time-outs go on as ever.
		$ENV{FAKETIME_DONT_FAKE_MONOTONIC} = $ENV{DONT_FAKE_MONOTONIC} = 1;
	}
	$node->start;
	return;
}

set_clock(0);
my $node = PostgreSQL::Test::Cluster->new('clock');
$node->init;
start($node);
$node->safe_psql('postgres', 'CREATE EXTENSION pg_idem');

# Nobody has said which server this is.
my $session = IdemTest::Session->new($node);
is($session->query('SELECT idem_snowflake();'), 'ERROR:  ID040', 'no id without a number for the server');
is($session->query('SELECT count(*) FROM idem_snowflake_batch(1);'), 'ERROR:  ID040', 'and no batch');
is( $session->query('SELECT last_value = 1735689600000 AND NOT is_called FROM idem_snowflake_seq;'), 't', 'nothing is lost by it');
is($session->query('SELECT idem_uuid7() IS NOT NULL, idem_snowflake_text(1);'), 't|0000000000001', 'all else works');
$node->append_conf('postgresql.conf', "idem.node_id = 42\nidem.max_clock_back = '10 s'");
$node->reload;
wait_for(sub { $session->query('SHOW idem.node_id;') eq '42' }, 'reload');
is($session->query('SELECT node FROM idem_snowflake_parts(idem_snowflake());'), '42', 'with it, ids have the number');
$node->append_conf('postgresql.conf', 'idem.node_id = 1024');
$node->reload;
my $errors;
wait_for(sub { $node->psql('postgres', 'SELECT idem_snowflake()', stderr => \$errors) != 0 }, 'reload');
like($errors, qr/1024 is outside the valid range.*this server has no number/s, 'a wrong number counts as none');
is($session->query('SELECT node FROM idem_snowflake_parts(idem_snowflake());'), '42', 'where there was a right one, it stays');
$node->append_conf('postgresql.conf', 'idem.node_id = 42');
$node->reload;
wait_for(sub { $node->psql('postgres', 'SELECT idem_snowflake()') == 0 }, 'reload');

SKIP:
{
	skip 'libfaketime is not installed: NO TEST OF A CLOCK THAT IS SET BACK', 9 unless $faketime;
	my $before = $session->query('SELECT idem_snowflake();');
	my $uuid = $session->query('SELECT idem_uuid7();');
	set_clock(-5);
	my $after = $session->query('SELECT idem_snowflake();');
	cmp_ok($session->query("SELECT extract(epoch FROM at - clock_timestamp()) > 3 FROM idem_snowflake_parts($after);"),
		'eq', 't', 'the clock is behind the ids');
	cmp_ok($after, '>', $before, 'five seconds back: ids go on');
	is($session->query("SELECT idem_uuid7() > '$uuid';"), 't', 'UUIDs of a session, too');
	set_clock(-3600);
	is($session->query('SELECT idem_snowflake();'), 'ERROR:  ID040', 'an hour back: an error');
	is($session->query('SELECT idem_snowflake();'), 'ERROR:  ID040', 'again');
	is($session->query("SELECT idem_uuid7() > '$uuid';"), 't', 'UUIDs go on');
	is($session->query("SET idem.max_clock_back = '2 h'; SELECT idem_snowflake() > $after;"), 't', 'unless it is allowed');
	is($session->query("RESET idem.max_clock_back; SELECT idem_snowflake();"), 'ERROR:  ID040', 'not for others');
	set_clock(0);
	cmp_ok($session->query('SELECT idem_snowflake();'), '>', $after, 'the clock is right again: ids go on');
}
$session->close;

$node->append_conf('postgresql.conf', "idem.max_clock_back = '10 d'");
$node->reload;
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE drawn (client integer, transaction integer, n integer, before bigint, id bigint);
SQL
my $script = $node->basedir . '/draw.sql';
PostgreSQL::Test::Utils::append_to_file($script, sprintf(<<'SQL', IDS, IDS));
\set transaction :transaction + 1
SELECT last_value AS before FROM idem_snowflake_seq \gset
\if :transaction % 2 = 0
INSERT INTO drawn SELECT :client_id, :transaction, n, :before, idem_snowflake() FROM generate_series(1, %d) AS n;
\else
INSERT INTO drawn SELECT :client_id, :transaction, n, :before, id FROM idem_snowflake_batch(%d) WITH ORDINALITY AS b (id, n);
\endif
SQL

my $output = $errors = '';
my $load = IPC::Run::start(
	[
		'pgbench', '--no-vacuum', '--client', SESSIONS, '--transactions', TRANSACTIONS, '--define', 'transaction=0',
		'--file', $script, '--host', $node->host, '--port', $node->port, 'postgres' ],
	'<', File::Spec->devnull, '>', \$output, '2>', \$errors);
my $steps = 0;
while ($load->pumpable)
{
	$load->pump_nb;
	set_clock((-3600, 0, -5, 1, -86400, 60)[ $steps % 6 ]);
	# A second ahead of what there is, which is more than the sessions draw meanwhile.
	$node->safe_psql('postgres', "SELECT setval('idem_snowflake_seq', last_value + (1000::bigint << 22)) FROM idem_snowflake_seq")
	  if $steps % 3 == 0;
	$steps++;
	select undef, undef, undef, 0.05;
}
$load->finish;
is($load->result(0), 0, 'eight sessions drew ids') or diag($errors);
set_clock(0);
cmp_ok($steps, '>', 5, "the clock was set $steps times");
is( $node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT id) FROM drawn'),
	join('|', (SESSIONS * TRANSACTIONS * IDS) x 2), 'a million ids, all different');
is($node->safe_psql('postgres', 'SELECT count(*) FROM drawn WHERE id <= before'), '0', 'each greater than the last one before its call');
is( $node->safe_psql('postgres', <<'SQL'), '0', 'and greater than the one before in its session');
SELECT count(*) FROM (SELECT id, lag(id) OVER (PARTITION BY client ORDER BY transaction, n) AS previous FROM drawn) AS d
WHERE id <= previous
SQL
is( $node->safe_psql('postgres', 'SELECT DISTINCT node FROM drawn, idem_snowflake_parts(id)'), '42', 'all of this server');

$node->stop;
done_testing();
