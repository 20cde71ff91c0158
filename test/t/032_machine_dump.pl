# A dump carries attached machines with all that belongs to them: rows far from their initial states, guards, versions
# that rows are pinned to, the history and its numbers, and the ids of events. Columns were renamed and dropped before.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;

my $node = PostgreSQL::Test::Cluster->new('machine_dump');
$node->init;
$node->start;
my $dumps = PostgreSQL::Test::Utils::tempdir();

$node->safe_psql('postgres', <<'SQL');
CREATE SCHEMA idem;
CREATE EXTENSION pg_idem SCHEMA idem;
SET search_path = public, idem;
SELECT idem_machine_define('order', ARRAY['new'],
	ARRAY[['new','paid','pay'],['paid','shipped','ship'],['new','cancelled','cancel']]);
CREATE TABLE orders (first int, id bigint PRIMARY KEY, second text, state text NOT NULL DEFAULT 'new', third int,
	address text);
CREATE FUNCTION may_ship(orders) RETURNS text LANGUAGE sql AS
	$$ SELECT CASE WHEN $1.address IS NULL THEN 'no address' END $$;
ALTER TABLE orders DROP COLUMN first;
SELECT idem_machine_attach('orders', 'state', 'order', history => true, guards => '{"ship": "may_ship"}');
ALTER TABLE orders DROP COLUMN second;
ALTER TABLE orders RENAME COLUMN state TO status;
ALTER TABLE orders DROP COLUMN third;
INSERT INTO orders (id, address) SELECT i, CASE WHEN i <> 5 THEN 'here' END FROM generate_series(1, 5) AS i;
SELECT idem_fire('orders', '1', 'pay', 'evt 1', '{"amount": 1.50}');
SELECT idem_fire('orders', '1', 'ship', 'evt 2');
SELECT idem_fire('orders', '2', 'pay');
UPDATE orders SET status = 'cancelled' WHERE id = 3;
UPDATE orders SET status = 'paid' WHERE id = 5;

CREATE TYPE mood AS ENUM ('calm', 'cross', 'gone');
SELECT idem_machine_define('ticket', ARRAY['calm'], ARRAY[['calm','cross','annoy'],['cross','gone','leave']]);
CREATE TABLE tickets (id int PRIMARY KEY, mood mood NOT NULL DEFAULT 'calm', v int);
SELECT idem_machine_attach('tickets', 'mood', 'ticket', version_col => 'v', always => true, allow_null => true);
INSERT INTO tickets VALUES (1), (2);
UPDATE tickets SET mood = 'cross' WHERE id = 2;
SELECT idem_machine_define('ticket', ARRAY['calm'], ARRAY[['calm','gone','leave']]);
INSERT INTO tickets VALUES (3);
UPDATE tickets SET mood = 'gone' WHERE id = 3;

SELECT idem_machine_define('parcel', ARRAY['here'], ARRAY[['here','there','send'],['there','here','return'],['there','lost','lose']]);
CREATE TABLE parcels (id int, place text, kind text, PRIMARY KEY (id, place)) PARTITION BY LIST (place);
SELECT idem_machine_attach('parcels', 'place', 'parcel', history => true, machine_col => 'kind');
CREATE TABLE parcels_here (kind text, gone int, place text NOT NULL, id int NOT NULL);
ALTER TABLE parcels_here DROP COLUMN gone;
ALTER TABLE parcels ATTACH PARTITION parcels_here FOR VALUES IN ('here');
CREATE TABLE parcels_away PARTITION OF parcels DEFAULT;
INSERT INTO parcels VALUES (1, 'here', NULL), (2, 'here', 'parcel'), (3, 'here', NULL);
UPDATE parcels SET place = 'there' WHERE id > 1;
UPDATE parcels SET place = 'lost' WHERE id = 3;
SQL

my $path = 'SET search_path = public, idem;';
my $state = <<"SQL";
$path
SELECT o FROM orders AS o ORDER BY id;
SELECT t FROM tickets AS t ORDER BY id;
SELECT tableoid::regclass, p.id, place, kind FROM parcels AS p ORDER BY id;
SELECT a FROM idem_machine_attachments AS a ORDER BY rel::text;
SELECT m FROM idem_machines AS m ORDER BY name, version;
SELECT tableoid::regclass, h FROM idem_history AS h ORDER BY id;
SELECT r FROM idem_records AS r ORDER BY key;
SELECT h FROM idem_history_of('orders', '1') AS h;
SELECT tgrelid::regclass, tgname, tgenabled, tgfoid::regproc FROM pg_trigger WHERE tgname ~ '^_idem' ORDER BY tgrelid::regclass::text, tgname;
SQL
my $expected = $node->safe_psql('postgres', $state);
my $last = $node->safe_psql('postgres', 'SELECT max(id) FROM idem.idem_history');

sub run { my ($database, $sql) = @_; return $node->safe_psql($database, "$path $sql"); }

# The SQLSTATE of a statement that fails, else nothing.
sub refusal
{
	my ($database, $sql) = @_;
	$node->psql($database, "\\set VERBOSITY sqlstate\n$path $sql", stderr => \my $error);
	return $error =~ /ERROR:\s+(\w{5})/ ? $1 : '';
}

sub check_judged
{
	my ($database) = @_;
	my %refused = (
		"UPDATE orders SET status = 'paid' WHERE id = 3" => 'ID002',
		"UPDATE orders SET status = 'shipped' WHERE id = 4" => 'ID001',
		"UPDATE orders SET status = 'shipped' WHERE id = 5" => 'ID005',
		"INSERT INTO orders VALUES (6, 'paid')" => 'ID003',
		"UPDATE tickets SET mood = 'gone' WHERE id = 1" => 'ID001',
		"UPDATE tickets SET mood = 'calm' WHERE id = 3" => 'ID002',
		"SET session_replication_role = replica; INSERT INTO tickets VALUES (4, 'gone')" => 'ID003',
		"UPDATE parcels SET place = 'lost' WHERE id = 1" => 'ID001',
		"UPDATE parcels SET place = 'here' WHERE id = 3" => 'ID002',
		"UPDATE parcels SET place = 'elsewhere' WHERE id = 1" => 'ID004',
		"SELECT idem_fire('orders', '1', 'pay', 'evt 1', '{\"amount\": 2}')" => 'ID007');
	my @wrong = grep { refusal($database, $_) ne $refused{$_} } sort keys %refused;
	is("@wrong", '', "$database: what was refused before is refused");
	return;
}

# Leaves changes behind.
sub check_going_on
{
	my ($database) = @_;
	is( run($database, "SELECT idem_fire('orders', '1', 'pay', 'evt 1', '{\"amount\": 1.5}')"),
		'(replayed,new,paid,1)', "$database: events of before are remembered");
	is( run($database, "SELECT idem_fire('orders', '2', 'ship', 'evt 1')"),
		'(applied,paid,shipped,1)', "$database: another row's event happens");
	is( run($database, 'SELECT bool_and(id > ' . $last . ') FROM idem_history WHERE from_state = \'paid\' AND key = \'{"id": 2}\''),
		't', "$database: later numbers are higher");
	is( run($database, 'SELECT from_state, to_state, event FROM idem_history_of(\'orders\', \'2\')'),
		"|new|\nnew|paid|pay\npaid|shipped|ship", "$database: the history of a row goes on");
	is( run($database, "UPDATE tickets SET mood = 'cross' WHERE id = 1 RETURNING v; INSERT INTO tickets VALUES (4) RETURNING v"),
		"1\n2", "$database: rows keep their versions, and new ones get the newest");
	is( run($database, "UPDATE parcels SET place = 'here' WHERE id = 2;
		SELECT tableoid::regclass, place FROM parcels WHERE id = 2;
		SELECT from_state, to_state, machine FROM idem_history_of('parcels', '2') OFFSET 2"),
		"parcels_here|here\nthere|here|parcel", "$database: rows move between partitions");
	is( run($database, "SELECT v FROM unnest(ARRAY['orders', 'tickets', 'parcels']::regclass[]) AS r, idem_machine_validate(r) AS v"),
		'', "$database: all rows are where they may be");
	return;
}

sub check
{
	my ($database) = @_;
	is($node->safe_psql($database, $state), $expected, "$database: all is the same");
	check_judged($database);
	check_going_on($database);
	return;
}

sub database
{
	my ($name) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $name TEMPLATE template0");
	return $node->connstr($name);
}

sub dump_ok
{
	my ($file, @options) = @_;
	command_ok([ 'pg_dump', '--dbname', $node->connstr('postgres'), '--file', "$dumps/$file", @options ], "pg_dump @options");
	return "$dumps/$file";
}

my @psql = ('psql', '--no-psqlrc', '--quiet', '--set', 'ON_ERROR_STOP=1');

sub load_ok
{
	my ($database, @files) = @_;
	my @arguments = map { ('--file', $_) } @files;
	command_ok([ @psql, '--dbname', $node->connstr($database), @arguments ], "$database: restored without an error");
	return;
}

check_judged('postgres');

database('plain');
load_ok('plain', dump_ok('plain.sql'));
check('plain');

my $custom = dump_ok('custom', '--format=custom');
command_ok([ 'pg_restore', '--exit-on-error', '--dbname', database('custom'), $custom ], 'custom: restored without an error');
check('custom');

# With several jobs and all sections at once, pg_restore makes the triggers of a partitioned table while the rows of its
# partitions come in.
my $directory = dump_ok('directory', '--format=directory', '--jobs=2');
database('directory');
for my $section ('pre-data', 'data', 'post-data')
{
	my @jobs = $section eq 'pre-data' ? () : '--jobs=2';
	command_ok(
		[ 'pg_restore', '--exit-on-error', "--section=$section", @jobs, '--dbname', $node->connstr('directory'), $directory ],
		"directory: $section is restored without an error");
}
check('directory');

database('sections');
load_ok('sections', map { dump_ok("$_.sql", "--section=$_") } 'pre-data', 'data', 'post-data');
check('sections');

# A dump of the restored database, once more.
command_ok([ 'pg_dump', '--dbname', $node->connstr('plain'), '--file', "$dumps/again.sql" ], 'pg_dump of what was restored');
my $restored = $node->safe_psql('plain', $state);
database('again');
load_ok('again', "$dumps/again.sql");
is($node->safe_psql('again', $state), $restored, 'again: all is the same');
is(refusal('again', q{UPDATE orders SET status = 'new' WHERE id = 2}), 'ID002', 'again: rows are judged');

# The schema alone lacks the definitions: nothing is let through, and the message says what is missing.
database('bare');
load_ok('bare', dump_ok('schema.sql', '--schema-only'));
for my $sql ('INSERT INTO orders VALUES (1)', 'INSERT INTO tickets VALUES (1)', "INSERT INTO parcels VALUES (1, 'here')")
{
	is(refusal('bare', $sql), 'ID006', "bare: $sql");
}
$node->psql('bare', "$path INSERT INTO orders VALUES (1)", stderr => \my $error);
like($error, qr/ERROR:  state machine "order" is not defined\n.*HINT:  .*idem_machines.*restore its rows/s,
	'the hint says that the rows of idem_machines are missing');
is(refusal('bare', q{SELECT idem_fire('orders', '1', 'pay')}), 'P0002', 'bare: there is no row to fire at');
is(run('bare', q{SELECT rel, machine FROM idem_machine_attachments ORDER BY rel::text}), "orders|order\nparcels|parcel\ntickets|ticket",
	'bare: what is attached is shown all the same');

# With triggers in place, rows come in by a data-only dump only while they are disabled.
my $data = dump_ok('data.sql', '--data-only', '--disable-triggers');
my $strict = dump_ok('strict.sql', '--data-only');
command_fails_like([ @psql, '--single-transaction', '--dbname', $node->connstr('bare'), '--file', $strict ],
	qr/ERROR:  .*(?:a row cannot start with|is not defined)/, 'bare: rows are judged as they come in');
is(run('bare', 'SELECT count(*) FROM orders'), '0', 'and refused');
load_ok('bare', $data);
is(run('bare', q{SELECT DISTINCT tgenabled FROM pg_trigger WHERE tgrelid = 'tickets'::regclass}), 'O',
	'such a dump enables triggers again, and forgets which of them always fire');
run('bare', q{SELECT idem_machine_attach('tickets', 'mood', 'ticket', version_col => 'v', always => true, allow_null => true)});
check('bare');

# A dump of one table lacks the extension.
my $table = dump_ok('table.sql', '--table=orders');
command_fails_like([ @psql, '--dbname', database('lone'), '--file', $table ],
	qr/ERROR:  .*may_ship|ERROR:  schema "idem" does not exist/, 'a table alone needs the extension first');

done_testing();
