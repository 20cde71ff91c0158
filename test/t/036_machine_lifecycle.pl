# Attached machines outlast what happens round them: prepared transactions, a dropped and re-created extension, strange
# and long names, and queries that go parallel.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;

my $node = idem_node('machine_lifecycle', max_prepared_transactions => 10);
my $session = IdemTest::Session->new($node);
my $setup = <<'SQL';
SELECT FROM idem_machine_define('order', ARRAY['new'], ARRAY[['new','paid','pay'],['paid','shipped','ship']]);
CREATE TABLE IF NOT EXISTS orders (id int PRIMARY KEY, status text NOT NULL DEFAULT 'new');
SELECT FROM idem_machine_attach('orders', 'status', 'order', history => true);
SQL
$session->query($setup);

# A prepared transaction holds its transitions, without a session and across a crash.
is( $session->query(
		"BEGIN; INSERT INTO orders VALUES (1), (2), (3); UPDATE orders SET status = 'paid' WHERE id = 1;
		SELECT outcome FROM idem_fire('orders', '2', 'pay', 'evt'); PREPARE TRANSACTION 'kept';
		BEGIN; INSERT INTO orders VALUES (4); PREPARE TRANSACTION 'dropped';"),
	'applied', 'transitions are prepared');
$node->stop('immediate');
$session->close;
$node->start;
$session = IdemTest::Session->new($node);
is($session->query('SELECT count(*) FROM idem_history;'), '0', 'after a crash they are still open');
$session->query("COMMIT PREPARED 'kept'; ROLLBACK PREPARED 'dropped';");
is($session->query('SELECT * FROM orders ORDER BY id;'), "1|paid\n2|paid\n3|new", 'committed, the rows are there');
is( $session->query('SELECT key, from_state, to_state FROM idem_history ORDER BY id;'),
	qq({"id": 1}||new\n{"id": 2}||new\n{"id": 3}||new\n{"id": 1}|new|paid\n{"id": 2}|new|paid), 'and their history');
is($session->query("SELECT outcome FROM idem_fire('orders', '2', 'pay', 'evt');"), 'replayed', 'and the event');

# What is written only at the end of the transaction is there when it is prepared: nothing says that a statement ends
# whose target is the parent of the attached table.
$session->query(<<'SQL');
CREATE TABLE parent (id int, status text NOT NULL DEFAULT 'new');
CREATE TABLE child (PRIMARY KEY (id)) INHERITS (parent);
SELECT FROM idem_machine_attach('child', 'status', 'order', history => true);
INSERT INTO child VALUES (1), (2), (3), (4);
SQL
my $of_child = q{SELECT key ->> 'id', to_state FROM idem_history WHERE attachment = 'public.child.status' AND from_state IS NOT NULL ORDER BY id;};
is( $session->query(
		"BEGIN; UPDATE parent SET status = 'paid' WHERE id = 1; PREPARE TRANSACTION 'late'; COMMIT PREPARED 'late';
		UPDATE parent SET status = 'paid' WHERE id = 2;
		BEGIN; UPDATE parent SET status = 'paid' WHERE id = 3; ROLLBACK;
		BEGIN; SAVEPOINT a; UPDATE parent SET status = 'paid' WHERE id = 3; ROLLBACK TO a;
		SAVEPOINT b; UPDATE parent SET status = 'paid' WHERE id = 4; RELEASE b; COMMIT; $of_child"),
	"1|paid\n2|paid\n4|paid", 'changes through the parent are in the history at the end of the transaction');

# Queries of an attached table go parallel, and so do those inside a guard.
$session->query(<<'SQL');
CREATE TABLE large (id int PRIMARY KEY, status text NOT NULL DEFAULT 'new') WITH (parallel_workers = 2);
INSERT INTO large SELECT i FROM generate_series(1, 10000) AS i;
SELECT FROM idem_machine_attach('large', 'status', 'order');
ANALYZE large;
SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
SQL
like($session->query(q{EXPLAIN (COSTS OFF) SELECT count(*) FROM large WHERE status = 'new';}), qr/Workers Planned: 2/,
	'a query of an attached table is planned for workers');
is($session->query(q{SELECT count(*) FROM large WHERE status = 'new';}), '10000', 'and answered by them');
is($session->query(q{UPDATE large SET status = 'paid' WHERE id % 2 = 0; SELECT count(*) FROM large WHERE status = 'paid';}), '5000',
	'between transitions');
is($session->query(q{CREATE TABLE copied AS SELECT * FROM large; SELECT count(*) FROM copied;}), '10000', 'or into another table');

# The extension goes, and with it the triggers, not the table; then it comes back in the same session.
is($session->query('DROP EXTENSION pg_idem;'), 'ERROR:  2BP01', 'an attached machine keeps the extension');
is($session->query('CREATE SCHEMA elsewhere; ALTER EXTENSION pg_idem SET SCHEMA elsewhere;'), 'ERROR:  0A000',
	'which cannot be moved elsewhere');
is($session->query("SET client_min_messages = error; DROP EXTENSION pg_idem CASCADE; SELECT count(*) FROM orders;"), '3',
	'dropped with CASCADE, the table is still there');
is($session->query("SELECT count(*) FROM pg_trigger WHERE tgrelid IN ('orders'::regclass, 'large'::regclass);"), '0',
	'without triggers');
is($session->query("UPDATE orders SET status = 'anything' WHERE id = 3; SELECT status FROM orders WHERE id = 3;"), 'anything',
	'so that nobody judges');
is($session->query("BEGIN; CREATE EXTENSION pg_idem; $setup ROLLBACK; SELECT count(*) FROM orders;"), "ERROR:  ID004\n3",
	'created anew, it judges what is there');
$session->query("UPDATE orders SET status = 'new' WHERE id = 3; CREATE EXTENSION pg_idem; $setup");
is($session->query("UPDATE orders SET status = 'shipped' WHERE id = 3;"), 'ERROR:  ID001', 'and what comes');
is($session->query("SELECT outcome FROM idem_fire('orders', '3', 'pay', 'evt');"), 'applied', 'events are new to it');
is( $session->query('SELECT to_state FROM idem_history_of(\'orders\', \'3\');'), 'paid', 'as is the history');

# An extension in a schema, and a machine for a table, whose names need quoting.
$node->safe_psql('postgres', 'CREATE DATABASE strange TEMPLATE template0 ENCODING "UTF8"');
$node->safe_psql('strange', 'CREATE SCHEMA "my ext"; CREATE EXTENSION pg_idem SCHEMA "my ext"; CREATE SCHEMA "a.b""c"');
my $strange = IdemTest::Session->new($node, 'strange');
$strange->query('SET search_path = "my ext", pg_catalog;');

sub identifier { my ($name) = @_; return '"' . $name =~ s/"/""/gr . '"'; }
sub literal { my ($text) = @_; return q{E'} . $text =~ s/(['\\])/\\$1/gr . q{'}; }
sub key { my ($column, $value) = @_; return literal(sprintf '{"%s": %s}', $column =~ s/(["\\])/\\$1/gr, $value); }

# 63 bytes of one, two and four bytes a character, and what SQL might stumble over.
for my $name ('x' x 63, 'ä' x 31, '𝔵' x 15, q{say "no"; -- '$$ %s \\\\ {}}, 'SELECT', q{=guard:history})
{
	my $key_name = $name =~ /^[[:ascii:]]+$/ ? 'k' . substr $name, 1 : 'é' x 31;
	my ($column, $key_column) = map { identifier($_) } $name, $key_name;
	my $table = '"a.b""c".' . $column;
	# What a diagram cannot write is no name for a state.
	my $state = literal($name =~ /^[\w\x80-\xff]+$/ ? $name : 'plain');
	my ($rel, $col, $key) = (literal($table), literal($name), key($key_name, 1));
	is( $strange->query(<<"SQL"),
SELECT idem_machine_define($state, ARRAY['new'], ARRAY[['new',$state,'pay'],[$state,'shipped','ship']]);
CREATE TABLE $table ($key_column int PRIMARY KEY, $column text NOT NULL DEFAULT 'new');
CREATE FUNCTION "a.b""c".$column($table) RETURNS text LANGUAGE sql AS \$ok\$ SELECT CASE WHEN \$1.$key_column = 2 THEN 'no' END \$ok\$;
SELECT FROM idem_machine_attach($rel, $col, $state, history => true, guards => jsonb_build_object('new --> ' || $state, ${\literal('"a.b""c".' . $column)}));
INSERT INTO $table VALUES (1), (2);
UPDATE $table SET $column = $state WHERE $key_column = 2;
SELECT outcome FROM idem_fire($rel, $key, 'pay', $col, to_jsonb(${col}::text));
SELECT outcome FROM idem_fire($rel, $key, 'pay', $col, to_jsonb(${col}::text));
SELECT event_id = $col, to_state = $state, machine = $state FROM idem_history_of($rel, $key, $col) WHERE event = 'pay';
SELECT event, to_state FROM idem_allowed_events($rel, $key);
SELECT idem_machine_migrate($rel, $col, jsonb_build_object($state, 'shipped'));
SELECT count(*) FROM idem_machine_validate($rel, $col);
SELECT idem_machine_detach($rel, $col);
SQL
		"1\nERROR:  ID005\napplied\nreplayed\nt|t|t\nship|shipped\n1\n0\nt", "all goes well with $name");
}

# Two columns whose names differ at the end.
my @columns = map { 'x' x 62 . $_ } 1, 2;
is( $strange->query(<<"SQL"),
SELECT idem_machine_define('m', ARRAY['new'], ARRAY[['new','old']]);
CREATE TABLE two (id int PRIMARY KEY, $columns[0] text DEFAULT 'new', $columns[1] text DEFAULT 'new');
SELECT FROM idem_machine_attach('two', '$columns[0]', 'm', history => true);
SELECT FROM idem_machine_attach('two', '$columns[1]', 'm', history => true);
INSERT INTO two VALUES (1);
UPDATE two SET $columns[0] = 'bad';
UPDATE two SET $columns[1] = 'bad';
UPDATE two SET $columns[0] = 'old', $columns[1] = 'old';
SELECT count(*) FROM idem_history WHERE from_state = 'new' AND to_state = 'old';
SELECT idem_machine_detach('two', '$columns[0]');
UPDATE two SET $columns[0] = 'bad';
UPDATE two SET $columns[1] = 'bad';
SQL
	"1\nERROR:  ID004\nERROR:  ID004\n2\nt\nERROR:  ID004", 'two long names that differ at the end are told apart');
# A name that a renamed column has left.
is( $strange->query(<<'SQL'),
CREATE TABLE renamed (id int PRIMARY KEY, status text DEFAULT 'new');
SELECT FROM idem_machine_attach('renamed', 'status', 'm', history => true);
ALTER TABLE renamed RENAME status TO former;
ALTER TABLE renamed ADD status text DEFAULT 'new';
SELECT FROM idem_machine_attach('renamed', 'status', 'm', history => true);
INSERT INTO renamed VALUES (1);
UPDATE renamed SET former = 'bad';
UPDATE renamed SET status = 'bad';
UPDATE renamed SET status = 'old';
SELECT col, attachment FROM idem_machine_attachments WHERE rel = 'renamed'::regclass ORDER BY attachment;
SELECT to_state FROM idem_history_of('renamed', '1', 'status');
SQL
	"ERROR:  ID004\nERROR:  ID004\nformer|\"my ext\".renamed.status\nstatus|\"my ext\".renamed.status#2\nnew\nold",
	'and so are a renamed column and the one that has its name now');
$_->close for $session, $strange;

done_testing();
