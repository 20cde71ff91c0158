# Whoever needs a database for himself gets it, whether the worker is there or not; and the worker goes where it may.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;
use IdemTestCleanup;

# The smallest batches, so that a backlog lasts.
my $node = cleanup_node('database', 'idem.cleanup_batch' => 1, 'idem.cleanup_max_workers' => 4);
my $version = $node->safe_psql('postgres', "SELECT current_setting('server_version_num')::int / 10000");

sub make_database
{
	my ($name, $count, $options) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $name " . ($options // ''));
	$node->safe_psql($name, 'CREATE EXTENSION pg_idem');
	add_items($node, $count, $name);
	$node->safe_psql($name, "SELECT idem_begin('done', retain => '1 us'), idem_finish('done', '1')");
	return;
}

sub make_idle
{
	my ($name) = @_;
	make_database($name, 1);
	until_sql($node, $name, 'SELECT count(*) FROM items', 0);
	no_worker($node, $name);
	return;
}

# A database in which the worker has begun and will not be done soon.
sub make_busy
{
	my ($name, $options) = @_;
	make_database($name, 200_000, $options);
	wait_for(sub { workers($node, $name) && items($node, $name) < 200_000 }, 'work');
	return;
}

# One statement, which has to succeed at once: there is nobody who helps it.
sub succeeds
{
	my ($statement, $what, $user) = @_;
	my @user = defined $user ? (extra_params => [ '-U', $user ]) : ();
	my ($status, $out, $error) = $node->psql('postgres', $statement, timeout => 60, @user);
	is("$status $error", '0 ', $what // $statement);
	return;
}

sub goes_on
{
	my ($name) = @_;
	$node->safe_psql($name,
		'UPDATE items SET expires = NULL WHERE id > 2000 AND expires IS NOT NULL; SELECT idem_cleanup_now()');
	until_sql($node, $name, 'SELECT count(*) FROM items WHERE expires IS NOT NULL', 0);
	return pass("cleanup goes on in $name");
}

my $place = PostgreSQL::Test::Utils::tempdir();
mkdir "$place/$_" or die "$place/$_: $!" for 'moved', 'brief';
$node->safe_psql('postgres', "CREATE TABLESPACE moved LOCATION '$place/moved'");

for my $kind ('idle', 'busy')
{
	subtest "a database in which the worker is $kind" => sub {
		$kind eq 'idle' ? make_idle('alpha') : make_busy('alpha');
		succeeds('ALTER DATABASE alpha RENAME TO beta');
		goes_on('beta') if $kind eq 'idle';
		succeeds('ALTER DATABASE beta SET TABLESPACE moved');
		wait_for(sub { workers($node, 'beta') }, 'work after the move') if $kind eq 'busy';
		succeeds('CREATE DATABASE gamma TEMPLATE beta');
		wait_for(sub { workers($node, 'gamma') }, 'work in the copy') if $kind eq 'busy';
		goes_on('gamma');
		wait_for(sub { workers($node, 'beta') }, 'work after the copying') if $kind eq 'busy';
		succeeds('DROP DATABASE beta');
		succeeds('DROP DATABASE gamma');
	};
}

# It was fast at first, so it owes a long rest.
subtest 'a database in which the worker rests' => sub {
	for my $statement ('ALTER DATABASE slow RENAME TO slower', 'DROP DATABASE slower')
	{
		$statement =~ /RENAME/ ? make_busy('slow') : wait_for(sub { workers($node, 'slower') }, 'work');
		wait_for(sub { items($node, $statement =~ /RENAME/ ? 'slow' : 'slower') < 199_000 }, 'rows');
		configure($node, 'idem.cleanup_rows_per_second' => 10);
		until_sql($node, 'postgres',
			"SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'pg_idem cleanup' AND wait_event = 'Extension'",
			1);
		succeeds($statement);
		configure($node, 'idem.cleanup_rows_per_second' => 0);
	}
};

subtest 'an unrelated database and tablespace' => sub {
	for my $kind ('idle', 'busy')
	{
		make_busy('worked') if $kind eq 'busy';
		succeeds('CREATE DATABASE unrelated');
		succeeds('DROP DATABASE unrelated');
		succeeds("CREATE TABLESPACE brief LOCATION '$place/brief'");
		succeeds('DROP TABLESPACE brief');
		ok(!!workers($node, 'worked'), 'while the worker works') if $kind eq 'busy';
	}
	succeeds('DROP DATABASE worked');
};

subtest 'dropped by force by its owner, who is nobody special' => sub {
	$node->safe_psql('postgres', 'CREATE ROLE landlord LOGIN CREATEDB');
	make_busy('rented', 'OWNER landlord');
	is( $node->safe_psql('postgres',
			"SELECT DISTINCT usename FROM pg_stat_activity
			WHERE backend_type = 'pg_idem cleanup' AND datname = 'rented'"),
		'landlord', 'the worker is the owner');
	succeeds('DROP DATABASE rented WITH (FORCE)', undef, 'landlord');
};

subtest 'databases come and go' => sub {
	my $position = log_since($node);
	for my $round (1 .. 15)
	{
		# A worker may be about to start, to connect, to work or to end.
		$node->safe_psql('postgres', 'CREATE DATABASE brief; SELECT idem_cleanup_now()') if $round % 2;
		make_database('brief', 100) unless $round % 2;
		$node->safe_psql('brief', 'SELECT idem_cleanup_now()') if $round % 4 == 0;
		succeeds('DROP DATABASE brief' . ($round % 4 == 0 ? ' WITH (FORCE)' : ''), "round $round");
	}
	my $log = log_since($node, $position);
	unlike($log, qr/TRAP|PANIC|was terminated by signal|deadlock detected/, 'nobody is hurt');
	my @warnings = $log =~ /WARNING:.*/g;
	cmp_ok(scalar(@warnings), '<=', 15, 'the log does not grow with it');
	launcher($node);
};

subtest 'databases never visited' => sub {
	make_idle($_) for qw(template closed invalid open);
	$node->safe_psql('postgres', <<'SQL');
ALTER DATABASE template IS_TEMPLATE true;
UPDATE pg_database SET datconnlimit = -2 WHERE datname = 'invalid';
SQL
	my $closing = IdemTest::Session->new($node, 'closed');
	$closing->query('SELECT 1;');
	$node->safe_psql('postgres', 'ALTER DATABASE closed ALLOW_CONNECTIONS false');
	no_worker($node);
	my $position = log_since($node);
	$closing->query("INSERT INTO items (expires) VALUES (now()); SELECT idem_cleanup_now();");
	fill_items($node, 1, 'template');
	$node->safe_psql('template', 'SELECT idem_cleanup_now()');
	fill_items($node, 1, 'open');
	$node->safe_psql('open', 'SELECT idem_cleanup_now()');
	until_sql($node, 'open', 'SELECT count(*) FROM items', 0);
	# Whoever asked first has been looked at, too.
	is($closing->query('SELECT count(*) FROM items;'), 1, 'none that allows no connections');
	is(items($node, 'template'), 1, 'no template');
	unlike(log_since($node, $position), qr/cleanup of database|cannot connect to invalid database|FATAL/,
		'and no invalid one');
	$closing->close;
	$node->safe_psql('postgres', <<'SQL');
ALTER DATABASE template IS_TEMPLATE false;
UPDATE pg_database SET datconnlimit = -1 WHERE datname = 'invalid';
ALTER DATABASE closed ALLOW_CONNECTIONS true;
SQL
	until_sql($node, 'template', 'SELECT count(*) FROM items', 0);
	until_sql($node, 'closed', 'SELECT count(*) FROM items', 0);
};

subtest 'an owner who may not log in' => sub {
	$node->safe_psql('postgres', 'CREATE ROLE absentee NOLOGIN');
	make_database('deserted', 5, 'OWNER absentee');
	until_sql($node, 'deserted', 'SELECT count(*) FROM items', 0);
	$node->safe_psql('postgres', 'ALTER ROLE landlord NOLOGIN; ALTER DATABASE deserted OWNER TO landlord');
	fill_items($node, 5, 'deserted');
	$node->safe_psql('deserted', 'SELECT idem_cleanup_now()');
	until_sql($node, 'deserted', 'SELECT count(*) FROM items', 0);
	$node->safe_psql('postgres', 'ALTER ROLE landlord LOGIN');
	pass('does not hinder cleanup');
};

subtest 'a database and an owner without room for connections' => sub {
	my $position = log_since($node);
	my $session = IdemTest::Session->new($node, 'deserted');
	$session->query('SELECT 1;');
	$node->safe_psql('postgres', 'ALTER DATABASE deserted CONNECTION LIMIT 0; ALTER ROLE landlord CONNECTION LIMIT 0');
	$session->query('INSERT INTO items (expires) VALUES (now()); SELECT idem_cleanup_now();');
	wait_for(sub { $session->query('SELECT count(*) FROM items;') eq '0' }, 'cleanup');
	# Before 15 the limits are those of workers as well, and the next one comes as somebody else.
	my $complaint = $node->safe_psql('postgres', 'SHOW server_version_num') < 150000 ? qr/PANIC/ : qr/FATAL|cleanup of database/;
	unlike(log_since($node, $position), $complaint, 'do not hinder cleanup');
	$session->close;
};

subtest 'hostile settings' => sub {
	my %settings = (
		default_transaction_read_only => 'on',
		default_transaction_isolation => 'serializable',
		default_transaction_deferrable => 'on',
		search_path => 'nowhere',
		statement_timeout => '1ms',
		lock_timeout => '1ms',
		idle_in_transaction_session_timeout => '1ms',
		session_replication_role => 'replica',
		role => 'stranger',
		'idem.direct_access' => 'off',
		row_security => 'off',
		check_function_bodies => 'off',
		enable_indexscan => 'off',
		enable_tidscan => 'off',
		xmlbinary => 'hex',
		datestyle => 'German, DMY',
		intervalstyle => 'sql_standard',
		timezone => 'Asia/Kolkata',
		client_encoding => 'LATIN1',
		quote_all_identifiers => 'on',
		transform_null_equals => 'on',
		max_parallel_workers_per_gather => 0,
		exit_on_error => 'on',
		zero_damaged_pages => 'off',
		client_min_messages => 'error',
		log_min_messages => 'log',
		($version >= 14 ? (idle_session_timeout => '1ms') : ()),
		($version >= 17 ? (transaction_timeout => '1ms') : ()));
	$node->safe_psql('postgres', 'CREATE ROLE hostile LOGIN; CREATE ROLE stranger; GRANT stranger TO hostile');
	make_database('hostile', 1, 'OWNER hostile');
	$node->safe_psql('hostile', <<'SQL');
SELECT idem_scope_set('archived', on_expiry => 'archive');
ALTER TABLE items OWNER TO hostile;
CREATE TABLE noted (id bigint);
ALTER TABLE noted OWNER TO hostile;
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN INSERT INTO public.noted VALUES (old.id); RETURN old; END';
CREATE TRIGGER note BEFORE DELETE ON items FOR EACH ROW EXECUTE FUNCTION note();
SQL
	until_sql($node, 'hostile', 'SELECT count(*) FROM items', 0);
	no_worker($node, 'hostile');
	my $session = IdemTest::Session->new($node, 'hostile');
	$session->query(<<'SQL');
INSERT INTO items (expires) SELECT now() FROM generate_series(1, 20);
SELECT idem_begin('a', 'archived', retain => '1 us'), idem_finish('a', '1', 'archived');
SQL
	for my $kind ('ROLE', 'DATABASE')
	{
		$node->safe_psql('postgres',
			join '', map { "ALTER $kind hostile SET $_ = '$settings{$_}';\n" } sort keys %settings);
	}
	$session->query('SELECT idem_cleanup_now();');
	wait_for(sub { $session->query('SELECT count(*) FROM items;') eq '0' }, 'cleanup under hostile settings');
	is($session->query('SELECT count(*) > 19 FROM noted;'), 't', 'triggers fire');
	wait_for(sub { $session->query("SELECT count(*) FROM idem_archive WHERE key = 'a';") eq '1' }, 'archive');
	is($session->query('SELECT sum(errors) FROM idem_stat_cleanup;'), 0, 'and there is no error');
	$session->close;
	succeeds('DROP DATABASE hostile');
};

$node->stop;
done_testing();
