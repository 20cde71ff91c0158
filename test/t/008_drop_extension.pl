# The extension is dropped, created anew and moved while other sessions have it cached.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;

my $node = idem_node('drop');
my $session = IdemTest::Session->new($node);
my $admin = IdemTest::Session->new($node);

# Fills every cache that the session has: statements, tables, scopes, claims, and plans of a PL/pgSQL function.
sub use_everything
{
	my ($key) = @_;
	return $session->query(
		"SELECT outcome, attempt FROM idem_begin('$key'); SELECT idem_checkpoint('$key', 'a') IS NULL;
		SELECT idem_finish('$key', '1'); SELECT outcome FROM idem_begin('$key', wait => '1 ms');
		SELECT outcome FROM idem_execute('x-$key', 'SELECT 1'); SELECT status FROM idem_get('$key');
		SELECT wrapped('w-$key');");
}
my $all_well = "started|1\nf\nfinished\nreplayed\nfinished\nfinished\nstarted";

$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION wrapped(key text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN (idem_begin(key)).outcome; END $$;
SQL
is(use_everything('a'), $all_well, 'everything works');
$admin->query('DROP EXTENSION pg_idem;');
my %codes = map { $_ => 1 } split /\n/, use_everything('a');
is(join(' ', sort keys %codes), 'ERROR:  42883', 'dropped: the functions are missing, and that is all');
$admin->query('CREATE EXTENSION pg_idem;');
is(use_everything('a'), $all_well, 'created anew: the session finds the new one, and it is empty');
$admin->query('DROP EXTENSION pg_idem; CREATE SCHEMA elsewhere; CREATE EXTENSION pg_idem SCHEMA elsewhere;');
$session->query('SET search_path = public, elsewhere;');
is(use_everything('a'), $all_well, 'created in another schema');
$admin->query('ALTER SCHEMA elsewhere RENAME TO anywhere;');
$session->query('SET search_path = public, anywhere;');
is(use_everything('b'), $all_well, 'the schema renamed');
$admin->query('VACUUM FULL anywhere.idem_records; REINDEX TABLE anywhere.idem_records; TRUNCATE anywhere.idem_records;');
is(use_everything('b'), $all_well, 'the table rewritten and emptied');

# A transaction that uses the extension holds it.
$session->query("BEGIN; SELECT FROM idem_begin('held');");
my $backend = $admin->backend;
$admin->send('DROP EXTENSION pg_idem;');
$node->poll_query_until('postgres', "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $backend")
  or die 'DROP EXTENSION does not wait';
is($session->query("SELECT idem_finish('held'); COMMIT;"), 'finished', 'an open transaction finishes its work first');
is($admin->receive, '', 'then the extension goes');
is($session->query("SELECT FROM idem_begin('held');"), 'ERROR:  42883', 'and is gone');
$_->close for $session, $admin;

done_testing();
