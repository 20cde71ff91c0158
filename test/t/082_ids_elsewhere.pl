# The ids of a server go on growing on the standby that takes over, and where its dump is restored. A large batch takes
# no memory.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;

my $primary = idem_node('primary', 'idem.node_id' => 5, 'idem.max_clock_back' => '20 d');
my $ahead = "SELECT setval(seq, idem_snowflake_floor(clock_timestamp() + '10 d', seq))
	FROM unnest(ARRAY['idem_snowflake_seq', 'own']::regclass[]) AS seq";
$primary->safe_psql('postgres', <<"SQL");
SELECT idem_snowflake_create('own', '2020-01-01');
CREATE TABLE kept (id bigint PRIMARY KEY DEFAULT idem_snowflake('own'));
$ahead;
SQL
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
$primary->safe_psql('postgres', 'INSERT INTO kept SELECT FROM generate_series(1, 100)');
my $last = $primary->safe_psql('postgres', 'SELECT idem_snowflake() FROM generate_series(1, 100) OFFSET 99');
my $kept = $primary->safe_psql('postgres', 'SELECT max(id) FROM kept');

# A dump, restored in other databases: in all its formats, and twice.
my $dumps = PostgreSQL::Test::Utils::tempdir();
sub check_dump
{
	my ($database, $what) = @_;
	is($primary->safe_psql($database, 'SELECT max(id) FROM kept'), $kept, "$what: the rows are there");
	is($primary->safe_psql($database, "SELECT seqstart FROM pg_sequence WHERE seqrelid = 'own'::regclass"), '1577836800000',
		"$what: and the epoch");
	cmp_ok($primary->safe_psql($database, 'SELECT idem_snowflake()'), '>', $last, "$what: ids go on");
	cmp_ok($primary->safe_psql($database, 'INSERT INTO kept DEFAULT VALUES RETURNING id'), '>', $kept,
		"$what: also of another sequence");
	return;
}
for my $format ('plain', 'custom')
{
	my $file = "$dumps/$format";
	$primary->command_ok(
		[ 'pg_dump', "--format=$format", "--file=$file", '--dbname', $primary->connstr('postgres') ], "dump as $format");
	$primary->safe_psql('postgres', "CREATE DATABASE from_$format TEMPLATE template0");
	my @restore = $format eq 'plain' ? ('psql', '--set=ON_ERROR_STOP=1', '--quiet', "--file=$file") : ('pg_restore', '--exit-on-error', $file);
	$primary->command_ok([ @restore, '--dbname', $primary->connstr("from_$format") ], "restore from $format");
	check_dump("from_$format", $format);
}
unlike(slurp_file("$dumps/plain"), qr/node_id/, 'the number of the server is not in the dump');

# After a crash the dump holds how far the log went.
$primary->stop('immediate');
$primary->start;
$primary->command_ok(
	[ 'pg_dump', "--file=$dumps/crash", '--dbname', $primary->connstr('postgres') ], 'dump after a crash');
$primary->safe_psql('postgres', 'CREATE DATABASE from_crash TEMPLATE template0');
$primary->command_ok(
	[ 'psql', '--set=ON_ERROR_STOP=1', '--quiet', "--file=$dumps/crash", '--dbname', $primary->connstr('from_crash') ],
	'restore of it');
check_dump('from_crash', 'after a crash');

# A standby gives none, and says what can be said without.
$last = $primary->safe_psql('postgres', 'SELECT idem_snowflake()');
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
my $session = IdemTest::Session->new($standby);
is($session->query('SELECT idem_snowflake();'), 'ERROR:  25006', 'no id on a standby');
is($session->query('SELECT count(*) FROM idem_snowflake_batch(1);'), 'ERROR:  25006', 'and no batch');
is($session->query("SELECT idem_snowflake_create('more');"), 'ERROR:  25006', 'and no sequence');
is($session->query("SELECT node FROM idem_snowflake_parts($last);"), '5', 'parts are said there');
is($session->query("SELECT idem_snowflake_floor('2025-01-01 00:00:00.001+00');"), '4194304', 'and floors');
is($session->query("SELECT idem_snowflake_from_text(idem_snowflake_text($last)) = $last;"), 't', 'and texts');
is($session->query('SELECT idem_uuid_time(idem_uuid7()) IS NOT NULL;'), 't', 'and UUIDs are made');
$primary->stop;
$standby->promote;
my $next = $session->query('SELECT idem_snowflake();');
cmp_ok($next, '>', $last, 'the promoted server goes on above');
cmp_ok($session->query("INSERT INTO kept DEFAULT VALUES RETURNING id;"), '>', $kept, 'with both sequences');

# Ten million ids, of which none is kept in memory.
sub memory
{
	open my $status, '<', '/proc/' . $session->backend . '/status' or return;
	my ($kilobytes) = map { /^RssAnon:\s+(\d+)/ ? $1 : () } <$status>;
	return $kilobytes;
}
$session->query('SELECT count(*) FROM (SELECT idem_snowflake_batch(1000)) AS b;');
my $before = memory();
SKIP:
{
	skip 'this system does not say how much memory a process has', 2 unless $before;
	is($session->query('SELECT count(id) FROM (SELECT idem_snowflake_batch(10000000) AS id) AS b;'), '10000000', 'ten million ids');
	cmp_ok(memory() - $before, '<', 2048, 'in less than two megabytes');
}
$session->close;
$standby->stop;

done_testing();
