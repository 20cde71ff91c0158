# Servers with a cleanup worker: its processes, tables with expired rows, and what the view says of them.

package IdemTestCleanup;

use strict;
use warnings;

use Exporter 'import';

use IdemTest;

our @EXPORT = qw(cleanup_node configure launcher workers no_worker add_items fill_items items status
	until_sql until_logged);

# A server that preloads the extension and looks at its databases every second.
sub cleanup_node
{
	my ($name, %settings) = @_;
	return idem_node(
		$name,
		'shared_preload_libraries' => 'pg_idem',
		'idem.cleanup_naptime' => '1s',
		'restart_after_crash' => 'on',
		%settings);
}

# New settings without a restart. Processes learn of them one after the other.
sub configure
{
	my ($node, %settings) = @_;
	$node->append_conf('postgresql.conf', "$_ = '$settings{$_}'") for sort keys %settings;
	$node->reload;
	return;
}

# The launcher's process, once there is one.
sub launcher
{
	my ($node) = @_;
	my $pid;
	wait_for(
		sub {
			$pid = $node->safe_psql('postgres',
				"SELECT pid FROM pg_stat_activity WHERE backend_type = 'pg_idem cleanup launcher'");
		},
		'a launcher');
	return $pid;
}

# The processes of workers, of all databases or of one.
sub workers
{
	my ($node, $database) = @_;
	my $where = defined $database ? "AND datname = '$database'" : '';
	return split /\n/,
	  $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE backend_type = 'pg_idem cleanup' $where");
}

sub no_worker
{
	my ($node, $database) = @_;
	wait_for(sub { !workers($node, $database) }, 'the end of the worker');
	return;
}

# A table whose rows expire at the time in a column of theirs, with a number of rows that have expired already. In the
# database "postgres", unless told otherwise.
sub add_items
{
	my ($node, $count, $database) = @_;
	$node->safe_psql($database // 'postgres', <<"SQL");
CREATE TABLE items (id bigint GENERATED ALWAYS AS IDENTITY, expires timestamptz) WITH (autovacuum_enabled = off);
CREATE INDEX ON items (expires);
INSERT INTO items (expires) SELECT now() FROM generate_series(1, $count);
SELECT idem_expire_attach('items', 'expires', '0');
SQL
	return;
}

# Rows that have expired, or that will in some seconds.
sub fill_items
{
	my ($node, $count, $database, $seconds) = @_;
	$seconds //= -1;
	$node->safe_psql($database // 'postgres',
		"INSERT INTO items (expires) SELECT now() + '$seconds s' FROM generate_series(1, $count)");
	return;
}

sub items
{
	my ($node, $database) = @_;
	return $node->safe_psql($database // 'postgres', 'SELECT count(*) FROM items');
}

# Waits until a query says what it should: true, unless told otherwise.
sub until_sql
{
	my ($node, $database, $query, $expected) = @_;
	$expected //= 't';
	my $answer = '';
	my $session = IdemTest::Session->new($node, $database);
	eval {
		wait_for(sub { ($answer = $session->query("$query;") // die 'no server') eq $expected }, $query);
		1;
	} or die "$@ it says: $answer";
	$session->close;
	return 1;
}

# Waits until the log, from a position on, says something.
sub until_logged
{
	my ($node, $position, $pattern) = @_;
	wait_for(sub { log_since($node, $position) =~ $pattern }, "$pattern in the log");
	return;
}

# Columns of the view, for one table.
sub status
{
	my ($node, $columns, $database, $table) = @_;
	$table //= 'items';
	return $node->safe_psql($database // 'postgres',
		"SELECT $columns FROM idem_stat_cleanup WHERE relation = '$table'::regclass");
}

1;
