# Versions and their check outlive a dump in every form and renamed columns, and reach a subscriber as they are.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;

my $node = PostgreSQL::Test::Cluster->new('version_dump');
$node->init(allows_streaming => 'logical');
$node->start;
my $dumps = PostgreSQL::Test::Utils::tempdir();

$node->safe_psql('postgres', <<'SQL');
CREATE SCHEMA idem;
CREATE EXTENSION pg_idem SCHEMA idem;
SET search_path = public, idem;
CREATE TABLE doc (first int, id int PRIMARY KEY, "Version" int, seen text, note text);
ALTER TABLE doc DROP COLUMN first;
INSERT INTO doc (id) SELECT generate_series(1, 3);
SELECT idem_version_attach('doc', 'Version', 'expect', '{seen}', true);
ALTER TABLE doc RENAME COLUMN "Version" TO lock_version;
ALTER TABLE doc RENAME COLUMN seen TO views;
UPDATE doc SET note = 'a' WHERE id > 1;
UPDATE doc SET note = 'b' WHERE id > 2;
CREATE TABLE parts (id int, place text, version bigint, PRIMARY KEY (id, place)) PARTITION BY LIST (place);
SELECT idem_version_attach('parts', mode => 'client');
CREATE TABLE parts_here PARTITION OF parts FOR VALUES IN ('here');
CREATE TABLE parts_rest PARTITION OF parts DEFAULT;
INSERT INTO parts VALUES (1, 'here'), (2, 'there');
UPDATE parts SET place = 'here', version = 2 WHERE id = 2;
CREATE TABLE own (id int PRIMARY KEY, version int);
CREATE TRIGGER own BEFORE UPDATE ON own FOR EACH ROW EXECUTE FUNCTION idem_version_check('version', 'where', 'id');
INSERT INTO own VALUES (1, 7);
SQL

my $state = <<'SQL';
SET search_path = public, idem;
SELECT id, lock_version, views, note FROM doc ORDER BY id;
SELECT tableoid::regclass, * FROM parts ORDER BY id;
TABLE own;
SELECT * FROM idem_version_attachments ORDER BY rel::text;
SELECT attname, attnotnull, atthasdef FROM pg_attribute WHERE attrelid = 'doc'::regclass AND attnum > 0
	AND NOT attisdropped ORDER BY attnum;
SQL
my $expected = $node->safe_psql('postgres', $state);
like($expected, qr/^3\|3\|\|b$/m, 'there are versions to dump');
like($expected, qr/^doc\|lock_version\|expect\|\{views\}$/m, 'renamed columns are followed');

# What is refused and what passes, in a database that came out of a dump.
sub check_behaviour
{
	my ($database, $name) = @_;
	my $path = 'SET search_path = public, idem;';
	my ($ret, $out, $err) = $node->psql($database, "$path UPDATE doc SET note = 'x', lock_version = 2 WHERE id = 3");
	like($err, qr/ERROR:  stale version of a row in table "doc": expected 2, actual 3/, "$name: a stale update is refused");
	is($node->safe_psql($database, "$path UPDATE doc SET views = 'x' WHERE id = 3 RETURNING lock_version"),
		3, "$name: ignored columns are");
	is($node->safe_psql($database, "$path SELECT idem_cas('doc', '3', 3, '{\"note\": \"y\"}')"), 4, "$name: idem_cas works");
	($ret, $out, $err) = $node->psql($database, "$path UPDATE parts SET place = 'far' WHERE id = 2");
	like($err, qr/expected 1, actual 2/, "$name: partitions are checked");
	is($node->safe_psql($database, "$path UPDATE parts SET place = 'far', version = 3 WHERE id = 2 RETURNING tableoid::regclass, version"),
		'parts_rest|3', "$name: rows move between partitions");
	is($node->safe_psql($database, "$path INSERT INTO doc VALUES (9) RETURNING lock_version"), 1, "$name: new rows begin");
	is($node->safe_psql($database, "$path UPDATE own SET version = 8 RETURNING version"), 8, "$name: triggers by hand are there");
	return;
}

sub dump_to
{
	my ($name, @options) = @_;
	$node->command_ok([ 'pg_dump', @options, '-f', "$dumps/$name", '-d', $node->connstr('postgres') ], "dump $name");
	return;
}

# restore: how, and from which dumps.
sub restored
{
	my ($database, @names) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $database TEMPLATE template0");
	foreach my $name (@names)
	{
		my @command =
		  $name =~ /custom/
		  ? ('pg_restore', '--exit-on-error', '-d', $node->connstr($database), "$dumps/$name")
		  : ('psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($database), '-f', "$dumps/$name");
		$node->command_ok(\@command, "restore $name");
	}
	is($node->safe_psql($database, $state), $expected, "$database: all is as it was");
	check_behaviour($database, $database);
	return;
}

dump_to('all.sql');
dump_to('all.custom', '-Fc');
dump_to('inserts.sql', '--inserts');
dump_to('schema.sql', '--schema-only');
dump_to('data.sql', '--data-only');
dump_to('data.custom', '-Fc', '--data-only');
restored('plain', 'all.sql');
restored('custom', 'all.custom');
restored('inserts', 'inserts.sql');
restored('in_two', 'schema.sql', 'data.sql');
restored('in_two_custom', 'schema.sql', 'data.custom');

# A second dump of a restored database is like the first one.
$node->safe_psql('postgres', 'CREATE DATABASE again TEMPLATE template0');
$node->command_ok([ 'pg_restore', '-d', $node->connstr('again'), "$dumps/all.custom" ], 'restore once more');
$node->command_ok([ 'pg_dump', '--schema-only', '-f', "$dumps/again.sql", '-d', $node->connstr('again') ], 'dump it');
sub lines_of
{
	return join "\n", grep { !/^\\(un)?restrict/ } split /\n/, slurp_file($_[0]);
}
is(lines_of("$dumps/again.sql"), lines_of("$dumps/schema.sql"), 'the schemas are the same');

# Logical replication: versions are copied and applied as they are, also where the subscriber checks.
my $subscriber = PostgreSQL::Test::Cluster->new('version_subscriber');
$subscriber->init;
$subscriber->append_conf('postgresql.conf', 'wal_retrieve_retry_interval = 50ms');
$subscriber->start;
$subscriber->command_ok([ 'psql', '-Xq', '-d', $subscriber->connstr('postgres'), '-f', "$dumps/schema.sql" ], 'schema of the subscriber');
$node->safe_psql('postgres', 'CREATE PUBLICATION p FOR TABLE doc, own');
my $connection = $node->connstr . ' dbname=postgres';
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION s CONNECTION '$connection' PUBLICATION p");
wait_until($subscriber, q{NOT EXISTS (SELECT FROM pg_subscription_rel WHERE srsubstate NOT IN ('r', 's'))}, 'copy');
$node->safe_psql('postgres', <<'SQL');
SET search_path = public, idem;
UPDATE doc SET note = 'replicated';
UPDATE doc SET note = 'replicated twice' WHERE id = 1;
UPDATE doc SET views = 'ignored' WHERE id = 2;
SELECT idem_cas('doc', '3', 4, '{"note": "cas"}');
DELETE FROM own;
INSERT INTO own VALUES (1, 40);
SQL
$node->wait_for_catchup('s');
my $rows = 'SELECT id, lock_version, note FROM doc UNION ALL SELECT id, version, NULL FROM own ORDER BY 1, 2';
is($subscriber->safe_psql('postgres', $rows), $node->safe_psql('postgres', $rows), 'versions are those of the origin');
like($subscriber->safe_psql('postgres', $rows), qr/^3\|5\|cas$/m, 'and the last one is there');
my ($ret, $out, $err) = $subscriber->psql('postgres', 'UPDATE doc SET lock_version = 1 WHERE id = 3');
like($err, qr/stale version/, 'writes of the subscriber are checked');

$subscriber->stop;
$node->stop;
done_testing();
