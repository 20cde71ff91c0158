# What the owner of an attached table can make happen when its rows expire, happens with the owner's rights: in the
# worker, in idem_expire_run() and in the view, whoever calls them.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;
use IdemTestCleanup;

my $node = cleanup_node('rights');

# Waits for what the view says of a table.
sub view_says
{
	my ($table, $condition, $what) = @_;
	return wait_until($node, "(SELECT $condition FROM idem_stat_cleanup WHERE relation = '$table'::regclass)", $what);
}

sub run { my ($sql, $database) = @_; return $node->safe_psql($database // 'postgres', $sql); }

# As the role that owns the tables. It may do no more than any role that was given a schema and the functions.
sub mallory { my ($sql) = @_; return run("SET SESSION AUTHORIZATION mallory; SET search_path = m, public; $sql"); }

run(<<'SQL');
CREATE ROLE mallory LOGIN;
CREATE ROLE operator;
SELECT idem_grant('operator', operator => true);
CREATE SCHEMA m AUTHORIZATION mallory;
CREATE SCHEMA crown;
CREATE TABLE crown.jewels (id integer, at timestamptz);
GRANT EXECUTE ON FUNCTION idem_expire_attach(regclass, name, interval, integer, text, regclass) TO mallory;
SQL

# The diary says who her code ran as, and whether it could do what it tried.
mallory(<<'SQL');
CREATE TABLE diary (place text, who name, path text, attempt text, outcome text);
GRANT USAGE ON SCHEMA m TO PUBLIC;
GRANT INSERT ON diary TO PUBLIC;
CREATE FUNCTION note(place text, attempt text = '', outcome text = '') RETURNS void LANGUAGE sql AS
	$$ INSERT INTO m.diary VALUES (place, current_user, current_setting('search_path'), attempt, outcome) $$;
CREATE FUNCTION attack() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	attempt text;
BEGIN
	PERFORM m.note('row trigger');
	FOREACH attempt IN ARRAY ARRAY[
		'ALTER ROLE mallory SUPERUSER',
		'GRANT pg_write_all_data TO mallory',
		'SET ROLE postgres',
		'RESET ROLE',
		'SET SESSION AUTHORIZATION postgres',
		'RESET SESSION AUTHORIZATION',
		'SET LOCAL session_replication_role = replica',
		'INSERT INTO crown.jewels VALUES (1)',
		'CREATE TABLE crown.mine ()',
		'CREATE TEMP TABLE mine ()',
		'DECLARE mine CURSOR WITH HOLD FOR SELECT m.note(''held cursor'')',
		'TRUNCATE public.idem_records',
		'UPDATE public.idem_expiries SET rel = ''crown.jewels''',
		'SELECT FROM pg_catalog.pg_authid',
		'SELECT pg_catalog.pg_read_file(''postgresql.conf'')',
		'COPY m.diary TO PROGRAM ''cat'''] LOOP
		BEGIN
			EXECUTE attempt;
			PERFORM m.note('row trigger', attempt, 'succeeded');
		EXCEPTION WHEN OTHERS THEN
			PERFORM m.note('row trigger', attempt, SQLSTATE);
		END;
	END LOOP;
	RETURN OLD;
END $$;
CREATE FUNCTION note_deletion() RETURNS trigger LANGUAGE plpgsql AS
	$$ BEGIN PERFORM m.note(TG_ARGV[0]); RETURN NULL; END $$;
CREATE FUNCTION put_off() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN SET CONSTRAINTS ALL DEFERRED; RETURN OLD; END $$;
CREATE FUNCTION lie(place text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS
	$$ BEGIN PERFORM m.note(place); RETURN true; END $$;

CREATE TABLE attacking (id integer, at timestamptz);
CREATE INDEX ON attacking (at);
CREATE TRIGGER attack BEFORE DELETE ON attacking FOR EACH ROW EXECUTE FUNCTION attack();

CREATE TABLE deferring (id integer, at timestamptz);
CREATE INDEX ON deferring (at);
CREATE CONSTRAINT TRIGGER at_commit AFTER DELETE ON deferring DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION note_deletion('deferred trigger');

CREATE TABLE escaping (LIKE deferring);
CREATE INDEX ON escaping (at);
CREATE TRIGGER first BEFORE DELETE ON escaping FOR EACH ROW EXECUTE FUNCTION put_off();
CREATE CONSTRAINT TRIGGER later AFTER DELETE ON escaping DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION note_deletion('trigger put off');

CREATE TABLE lying (LIKE deferring);
CREATE INDEX ON lying (at);
CREATE INDEX ON lying (at) WHERE lie('predicate');
CREATE INDEX ON lying (id, lie('expression'));
ALTER TABLE lying ENABLE ROW LEVEL SECURITY;
CREATE POLICY lie ON lying USING (lie('policy'));

CREATE TABLE robbing (LIKE deferring);
CREATE INDEX ON robbing (at);

SELECT idem_expire_attach(t, 'at', '1 hour') FROM unnest('{attacking, deferring, escaping, lying}'::regclass[]) AS t;
SQL
# She may not name the table, but guess its number; and later lose the right to fill it.
my $rob = 'SELECT idem_expire_attach($$m.robbing$$, $$at$$, $$1 hour$$, action => $$archive$$, archive => '
  . run("SELECT 'crown.jewels'::regclass::oid") . ')';
my (undef, undef, $error) =
  $node->psql('postgres', "SET SESSION AUTHORIZATION mallory; SET search_path = public; $rob");
like($error, qr/may not insert into archive "jewels"/, 'an archive has to be one that the owner may fill');
run('GRANT USAGE ON SCHEMA crown TO mallory; GRANT INSERT ON crown.jewels TO mallory');
mallory($rob);
run('REVOKE ALL ON SCHEMA crown FROM mallory; REVOKE ALL ON crown.jewels FROM mallory');

my @tables = qw(attacking deferring escaping lying robbing);
my $fill = join ' ', map { "INSERT INTO m.$_ VALUES (1, now() - interval '1 day');" } @tables;

# Nobody but mallory ever ran her code, and nothing that she tried worked.
sub nothing_gained
{
	my ($how) = @_;
	is(run('SELECT DISTINCT who, place FROM m.diary WHERE who <> $$mallory$$ ORDER BY 1, 2'), '',
		"$how: her code runs as herself only");
	is(run(q{SELECT DISTINCT attempt FROM m.diary WHERE outcome = 'succeeded'}), '',
		"$how: nothing she must not do succeeds");
	is(run(q{SELECT count(DISTINCT attempt) FROM m.diary WHERE outcome ~ '^[0-9A-Z]{5}$'}), 16,
		"$how: all of it was tried");
	is(run(q{SELECT DISTINCT path FROM m.diary WHERE attempt <> ''}), 'pg_catalog, pg_temp',
		"$how: functions without a schema are those of the server");
	is(run(q{SELECT rolsuper FROM pg_roles WHERE rolname = 'mallory'}), 'f', "$how: she is no superuser");
	is(run('SELECT count(*) FROM crown.jewels'), '0', "$how: she got no row into a table of somebody else");
	return;
}

run('SELECT idem_cleanup_pause()');
mallory("$fill DELETE FROM diary");
run('SELECT idem_cleanup_resume()');
# Not by a look at the table: to plan that is enough to run her functions.
view_says("m.$_", 'rows > 0', "worker, $_")
  for qw(attacking deferring lying);
view_says("m.$_", 'errors > 0', "failure, $_")
  for qw(escaping robbing);
nothing_gained('worker');
is(run("SELECT DISTINCT who FROM m.diary WHERE place = 'deferred trigger'"), 'mallory',
	'worker: a deferred trigger does not wait for the commit');
is(run('SELECT count(*) FROM m.escaping'), '1', 'worker: one that is put off by another trigger stops the deletion');
is(status($node, 'last_error', 'postgres', 'm.escaping'),
	'cannot fire deferred trigger within security-restricted operation', 'which the view explains');
is(run('SELECT count(*) FROM m.robbing'), '1', 'worker: a row that may no longer go into the archive stays');
like(status($node, 'last_error', 'postgres', 'm.robbing'), qr/permission denied for .*(?:crown|jewels)/,
	'which the view explains');

run('SELECT idem_cleanup_pause()');
mallory("$fill DELETE FROM diary");
# A superuser whose search_path leads to her.
my $superuser = IdemTest::Session->new($node);
mallory(<<'SQL');
CREATE FUNCTION trap(timestamptz, timestamptz) RETURNS boolean LANGUAGE plpgsql AS
	$$ BEGIN PERFORM m.note('operator'); RETURN true; END $$;
CREATE OPERATOR <= (LEFTARG = timestamptz, RIGHTARG = timestamptz, FUNCTION = trap);
CREATE OPERATOR = (LEFTARG = timestamptz, RIGHTARG = timestamptz, FUNCTION = trap);
CREATE FUNCTION now() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN PERFORM m.note('function'); RETURN NULL; END $$;
CREATE FUNCTION timezone(text, timestamptz) RETURNS timestamp LANGUAGE plpgsql AS
	$$ BEGIN PERFORM m.note('function'); RETURN NULL; END $$;
CREATE TABLE idem_records ();
CREATE TABLE idem_scopes ();
SQL
$superuser->query('SET search_path = m, pg_catalog, public;');
is($superuser->query("SELECT rows FROM public.idem_expire_run('m.$_');"), '1',
	"idem_expire_run: $_") for qw(attacking lying);
is($superuser->query("SELECT rows FROM public.idem_expire_run('m.$_');"), 'ERROR:  42501', "idem_expire_run: $_")
  for qw(escaping robbing);
$superuser->query("SET CONSTRAINTS ALL IMMEDIATE; SELECT rows FROM public.idem_expire_run('m.deferring');");
$superuser->query('SELECT public.idem_purge(); SELECT FROM public.idem_stat_cleanup;');
nothing_gained('idem_expire_run');

mallory("$fill DELETE FROM diary");
is($superuser->query('SET ROLE operator; SELECT count(*) FROM public.idem_stat_cleanup;'), 2 + @tables,
	'an operator reads the view');
is(run('SELECT DISTINCT who, place FROM m.diary WHERE who <> $$mallory$$'), '', 'and runs none of her code');
$superuser->close;

# A partition is its own owner's; and whoever may not delete rows fails alone.
run(<<'SQL');
CREATE ROLE partner;
CREATE ROLE leaver;
CREATE ROLE quitter;
CREATE TABLE parts (id integer, at timestamptz) PARTITION BY RANGE (id);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES FROM (1) TO (2);
CREATE TABLE part_2 PARTITION OF parts FOR VALUES FROM (2) TO (3);
CREATE INDEX ON parts (at);
CREATE TRIGGER note AFTER DELETE ON parts FOR EACH ROW EXECUTE FUNCTION m.note_deletion('partition');
INSERT INTO parts VALUES (1, now() - interval '1 day'), (2, now() - interval '1 day');
ALTER TABLE parts OWNER TO mallory;
ALTER TABLE part_1 OWNER TO mallory;
ALTER TABLE part_2 OWNER TO partner;
CREATE TABLE forbidden (id integer, at timestamptz);
CREATE TABLE abandoned (id integer, at timestamptz);
CREATE INDEX ON forbidden (at);
CREATE INDEX ON abandoned (at);
INSERT INTO forbidden VALUES (1, now() - interval '1 day');
ALTER TABLE forbidden OWNER TO leaver;
ALTER TABLE abandoned OWNER TO quitter;
REVOKE ALL ON forbidden FROM leaver;
DELETE FROM m.diary;
SELECT idem_expire_attach(t, 'at', '1 hour') FROM unnest('{parts, forbidden, abandoned}'::regclass[]) AS t;
SELECT idem_cleanup_resume();
SQL
wait_until($node, 'NOT EXISTS (SELECT FROM parts)', 'partitions');
is(run("SELECT who FROM m.diary WHERE place = 'partition' ORDER BY 1"), "mallory\npartner",
	'each partition with the rights of its own owner');
view_says('forbidden', q{errors > 0 AND state = 'failing'}, 'failure');
is(status($node, 'state, last_error', 'postgres', 'forbidden'), 'failing|permission denied for table forbidden',
	'an owner who may not delete rows fails');
run('DROP OWNED BY quitter; DROP ROLE quitter');
run('REASSIGN OWNED BY leaver TO postgres; DROP OWNED BY leaver; DROP ROLE leaver');
run("INSERT INTO parts VALUES (1, now() - interval '1 day'); SELECT idem_cleanup_now()");
wait_until($node, "NOT EXISTS (SELECT FROM $_)", "$_, without the roles") for qw(parts forbidden);
pass('owners come and go');
is(run("SELECT relation FROM idem_stat_cleanup WHERE relation::text ~ '^[0-9]|abandoned'"), '',
	'and the tables that went with them are forgotten');
my $log = slurp_file($node->logfile);
my %failed = map { $_ => 1 } $log =~ /cleanup of (.*?) failed/g;
is(join(', ', sort keys %failed), 'table m.escaping, table m.robbing, table public.forbidden', 'no other table failed');

done_testing();
