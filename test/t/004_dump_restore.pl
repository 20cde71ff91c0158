# A dump carries records, scopes, privileges and the source of tokens, in every format.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('dump');
$node->init;
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE app;
CREATE ROLE stranger;
CREATE SCHEMA idem;
CREATE EXTENSION pg_idem SCHEMA idem;
SELECT idem.idem_grant('app');
SELECT idem.idem_scope_set('billing', retain => '7 days', max_attempts => 3, member => 'app');
SELECT FROM idem.idem_begin('done');
SELECT idem.idem_finish('done', '{"id": 1}', code => 201, body => '\x00ff');
SELECT FROM idem.idem_begin('open', lease => '1 day', fingerprint => '\x01');
SELECT idem.idem_checkpoint('open', 'paid', 'null');
SELECT FROM generate_series(1, 100) AS i, idem.idem_begin('key ' || i);
SQL

my $state = <<'SQL';
SELECT r FROM idem.idem_records AS r ORDER BY key;
SELECT s FROM idem.idem_scopes AS s;
SQL
my $rights = <<'SQL';
SELECT p.oid::regprocedure, has_function_privilege('app', p.oid, 'EXECUTE'), has_function_privilege('stranger', p.oid, 'EXECUTE')
	FROM pg_depend AS d JOIN pg_proc AS p ON p.oid = d.objid
	WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e' ORDER BY 1;
SELECT has_schema_privilege('app', 'idem', 'USAGE'), has_table_privilege('app', 'idem.idem_records', 'SELECT');
SQL
my $records = $node->safe_psql('postgres', $state);
my $privileges = $node->safe_psql('postgres', $rights);
my $last = $node->safe_psql('postgres', 'SELECT max(token) FROM idem.idem_records');
my $dumps = PostgreSQL::Test::Utils::tempdir();

sub check
{
	my ($database) = @_;
	is($node->safe_psql($database, $state), $records, "$database: records and scopes are the same");
	is( $node->safe_psql($database, "SELECT outcome, token > $last FROM idem.idem_begin('new')"),
		'started|t', "$database: new tokens are newer than old ones");
	is( $node->safe_psql($database, "SELECT outcome, code, result, body FROM idem.idem_begin('done')"),
		'replayed|201|{"id": 1}|\x00ff', "$database: a result is replayed");
	is( $node->safe_psql($database, "SELECT idem.idem_finish('open', token => token) FROM idem.idem_get('open')"),
		'finished', "$database: a claim from before is finished");
	return;
}

sub check_rights
{
	my ($database) = @_;
	is($node->safe_psql($database, $rights), $privileges, "$database: privileges are the same");
	is( $node->safe_psql($database, "SET ROLE app; SELECT outcome FROM idem.idem_begin('by app', 'billing')"),
		'started', "$database: the granted role works");
	my $code = $node->psql($database, "SET ROLE stranger; SELECT outcome FROM idem.idem_begin('by stranger')");
	is($code, 3, "$database: others still may not");
	return;
}

sub database
{
	my ($name) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $name TEMPLATE template0");
	return $node->connstr($name);
}

my @source = ('--dbname', $node->connstr('postgres'));

command_ok([ 'pg_dump', @source, '--file', "$dumps/plain.sql" ], 'pg_dump, plain');
my @psql = ('psql', '--no-psqlrc', '--quiet', '--set', 'ON_ERROR_STOP=1');
command_ok([ @psql, '--dbname', database('plain'), '--file', "$dumps/plain.sql" ], 'restored without an error');
check('plain');
check_rights('plain');

command_ok([ 'pg_dump', @source, '--format=directory', '--jobs=2', '--file', "$dumps/directory" ],
	'pg_dump, directory, two jobs');
command_ok([ 'pg_restore', '--exit-on-error', '--jobs=2', '--dbname', database('directory'), "$dumps/directory" ],
	'restored without an error');
check('directory');
check_rights('directory');

# A dump of one schema leaves the extension out, as always, and carries its data.
command_ok([ 'pg_dump', @source, '--schema=idem', '--data-only', '--file', "$dumps/schema.sql" ],
	'pg_dump, data of the schema');
my $schema = database('schema');
$node->safe_psql('schema', 'CREATE SCHEMA idem; CREATE EXTENSION pg_idem SCHEMA idem');
command_ok([ @psql, '--dbname', $schema, '--file', "$dumps/schema.sql" ], 'restored without an error');
check('schema');

done_testing();
