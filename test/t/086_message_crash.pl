# Messages across crashes, copies and dumps: what was accepted and committed stays known, what was not does not.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;

my $node = idem_node('message_crash', restart_after_crash => 'on', max_prepared_transactions => 5);
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE inbox (message text);
CREATE TABLE events (producer bigint, epoch integer, seq bigint) PARTITION BY RANGE (seq);
SELECT idem_stream_attach('inbox', 'inbox', 'message');
SELECT idem_stream_attach('events', 'events', producer_id => 'producer', epoch => 'epoch', seq => 'seq');
CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM (1) TO (1000);
ALTER TABLE inbox RENAME COLUMN message TO id;
SELECT idem_producer('p', 'events');
SQL

sub accept_id { my ($id) = @_; return $node->safe_psql('postgres', "SELECT outcome, result FROM idem_accept_id('s', '$id')"); }
sub insert
{
	my ($id) = @_;
	return $node->safe_psql('postgres', "WITH i AS (INSERT INTO inbox VALUES ('$id') RETURNING 1) SELECT count(*) FROM i");
}
# How many of the events 1 to $last are stored when all are sent.
sub send_events
{
	my ($on, $last, $into) = @_;
	$into //= 'events';
	return $on->safe_psql('postgres',
		"WITH i AS (INSERT INTO $into SELECT (SELECT producer_id FROM idem_producers), 1, n
			FROM generate_series(1, $last) AS n RETURNING 1) SELECT count(*) FROM i");
}
sub last_seq { my ($on) = @_; return $on->safe_psql('postgres', 'SELECT last_seq FROM idem_producers'); }

# A backend is killed before its commit, and the whole server goes down with it.
is(send_events($node, 3), 3, 'three events are stored');
my $session = IdemTest::Session->new($node);
is( $session->query("BEGIN; SELECT outcome FROM idem_accept_id('s', 'open'); INSERT INTO inbox VALUES ('open');
		INSERT INTO events_1 SELECT producer_id, 1, 4 FROM idem_producers; SELECT outcome FROM idem_accept_id('s', 'open');"),
	"accepted\nduplicate", 'messages are accepted and not committed');
accept_id('kept');
insert('kept');
kill_and_recover($node, $session->backend);
$session->close;
is(accept_id('open'), 'accepted|', 'what was not committed is new');
is(insert('open'), 1, 'in the table as well');
is(accept_id('kept'), 'duplicate|', 'what was committed is known');
is(insert('kept'), 0, 'in the table as well');
is(send_events($node, 5), 2, 'events that were not committed are stored, those before are not');
$node->stop('immediate');
$node->start;
is(accept_id('open'), 'duplicate|', 'known after another crash');
is(send_events($node, 6), 1, 'so are events');

# A prepared transaction; one partition has no trigger that tells of the end of a statement.
$node->safe_psql('postgres', <<'SQL');
BEGIN;
SELECT idem_accept_id('s', 'prepared', result => '"p"');
INSERT INTO inbox VALUES ('prepared');
INSERT INTO events_1 SELECT producer_id, 1, n FROM idem_producers, generate_series(7, 9) AS n;
PREPARE TRANSACTION 'p';
SQL
is(last_seq($node), 6, 'a prepared transaction shows nothing');
$node->stop('immediate');
$node->start;
$node->safe_psql('postgres', "COMMIT PREPARED 'p'");
is(accept_id('prepared'), 'duplicate|"p"', 'once it is committed its message is known');
is(last_seq($node), 9, 'and all of its events are');
is(send_events($node, 10, 'events_1'), 1, 'so that they are not stored again');
is(last_seq($node), 10, 'a partition that was made later writes the progress at the end of the transaction');

# A copy of the server knows what the server knew.
$node->backup('copy');
my $copy = PostgreSQL::Test::Cluster->new('message_copy');
$copy->init_from_backup($node, 'copy', has_streaming => 0, has_restoring => 0);
$copy->start;
is($copy->safe_psql('postgres', "SELECT outcome FROM idem_accept_id('s', 'kept')"), 'duplicate', 'a copy knows the messages');
is(send_events($copy, 12), 2, 'and the events');
$copy->stop;

# A dump carries attachments, what was accepted, and how far producers got.
my $dump = PostgreSQL::Test::Utils::tempdir() . '/all.sql';
$node->command_ok([ 'pg_dump', '--file', $dump, $node->connstr('postgres') ], 'the database is dumped');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $node->connstr('restored') ], 'and restored');

sub restored { my ($sql) = @_; return $node->safe_psql('restored', $sql); }
is(restored('SELECT * FROM idem_stream_attachments ORDER BY rel::text'),
	"events|events||producer|epoch|seq\ninbox|inbox|id|||", 'what is attached comes along');
is(restored('SELECT count(*) FROM inbox'), 3, 'with all rows, which are not accepted once more');
is(restored("SELECT outcome, result FROM idem_accept_id('s', 'prepared')"), 'duplicate|"p"', 'ids are known');
is(restored("INSERT INTO inbox VALUES ('kept'), ('new'), ('new') RETURNING id"), 'new', 'in the table as well');
is( restored(
		"INSERT INTO events SELECT producer_id, 1, n FROM idem_producers, generate_series(1, 12) AS n RETURNING seq"),
	"11\n12", 'events go on where they were');

# Rows that are restored after the triggers, as those of partitions may be when there are several jobs, are not lost in
# silence because the dump remembers their messages.
my $custom = PostgreSQL::Test::Utils::tempdir() . '/all.custom';
$node->command_ok([ 'pg_dump', '--format=custom', '--file', $custom, $node->connstr('postgres') ], 'a dump in sections');
sub restore
{
	my ($database, @options) = @_;
	return ('pg_restore', @options, '--dbname', $node->connstr($database), $custom);
}
$node->safe_psql('postgres', 'CREATE DATABASE late');
$node->safe_psql('postgres', 'CREATE DATABASE sections');
$node->command_ok([ restore('late', '--section=pre-data', '--section=post-data') ], 'triggers are restored before the rows');
command_fails_like([ restore('late', '--section=data') ],
	qr/ERROR:  a restore would lose rows of table "inbox".*HINT:  Restore the sections pre-data, data and post-data/s,
	'the rows are refused, as their messages are known');
my $data = PostgreSQL::Test::Utils::tempdir() . '/data.sql';
$node->command_ok([ 'pg_restore', '--section=data', '--table=inbox', '--file', $data, $custom ], 'rows alone, for psql');
command_fails_like([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $data, $node->connstr('restored') ],
	qr/ERROR:  a restore would lose rows of table "inbox"/, 'psql is refused as well');
$node->command_ok([ restore('sections', "--section=$_") ], "$_ is restored") for 'pre-data', 'data', 'post-data';
is( $node->safe_psql('sections', "SELECT count(*) FROM inbox; INSERT INTO inbox VALUES ('kept'), ('new') RETURNING id"),
	"3\nnew", 'in their order the sections lose nothing');

done_testing();
