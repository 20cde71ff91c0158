# Logical replication between two servers that both have the machine. What the publisher has judged is not judged again
# unless the subscriber asks for it; then each transition is in its history once, however the changes come.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;

my $publisher = idem_node('publisher', wal_level => 'logical');
my $subscriber = idem_node('subscriber', wal_level => 'logical', wal_retrieve_retry_interval => '50ms');

my $tables = <<'SQL';
SELECT idem_machine_define('order', ARRAY['new'],
	ARRAY[['new','paid','pay'],['paid','shipped','ship'],['shipped','closed','close']]);
CREATE TABLE plain (id int PRIMARY KEY, status text NOT NULL DEFAULT 'new');
CREATE TABLE judged (id int PRIMARY KEY, status text NOT NULL DEFAULT 'new');
CREATE TABLE moving (id int, status text DEFAULT 'new', PRIMARY KEY (id, status)) PARTITION BY LIST (status);
CREATE TABLE moving_new PARTITION OF moving FOR VALUES IN ('new');
CREATE TABLE moving_on PARTITION OF moving DEFAULT;
SELECT idem_machine_attach('plain', 'status', 'order', history => true);
SQL
$publisher->safe_psql('postgres', <<"SQL");
$tables
SELECT idem_machine_attach('judged', 'status', 'order', history => true);
SELECT idem_machine_attach('moving', 'status', 'order', history => true);
INSERT INTO plain VALUES (1); UPDATE plain SET status = 'paid';
CREATE PUBLICATION p FOR TABLE plain, judged;
CREATE PUBLICATION q FOR TABLE moving WITH (publish_via_partition_root = true);
SQL
$subscriber->safe_psql('postgres', <<"SQL");
$tables
SELECT idem_machine_attach('judged', 'status', 'order', history => true, always => true);
SELECT idem_machine_attach('moving', 'status', 'order', history => true);
SQL
my $connection = $publisher->connstr . ' dbname=postgres';

sub both
{
	my ($sql) = @_;
	return map { $_->safe_psql('postgres', $sql) } $publisher, $subscriber;
}

sub copied
{
	return wait_until($subscriber, q{NOT EXISTS (SELECT FROM pg_subscription_rel WHERE srsubstate NOT IN ('r', 's'))}, 'copy');
}

sub applied
{
	$publisher->wait_for_catchup($_) for 's', 't';
	return;
}

sub history
{
	my ($node, $table) = @_;
	return $node->safe_psql('postgres', qq{SELECT key, from_state, to_state FROM idem_history
		WHERE attachment = 'public.$table.status' ORDER BY id});
}

# What is there already is copied.
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION s CONNECTION '$connection' PUBLICATION p;
	CREATE SUBSCRIPTION t CONNECTION '$connection' PUBLICATION q");
copied();
is($subscriber->safe_psql('postgres', 'TABLE plain'), '1|paid', 'rows are copied in the states that they are in');
is(history($subscriber, 'plain'), '', 'and no history is made of them');

# By default the subscriber takes over what the publisher has judged.
$publisher->safe_psql('postgres', q{UPDATE plain SET status = 'shipped'; INSERT INTO plain VALUES (2);});
$subscriber->safe_psql('postgres', q{UPDATE plain SET status = 'new' WHERE id = 0});
$publisher->safe_psql('postgres', q{SET session_replication_role = replica; UPDATE plain SET status = 'closed' WHERE id = 2});
applied();
is($subscriber->safe_psql('postgres', 'SELECT * FROM plain ORDER BY id'), "1|shipped\n2|closed",
	'changes are taken over, also one that no machine allows');
is(history($subscriber, 'plain'), '', 'and written to no history');
is(history($publisher, 'plain'), qq({"id": 1}||new\n{"id": 1}|new|paid\n{"id": 1}|paid|shipped\n{"id": 2}||new),
	'the publisher has what it judged');
$subscriber->psql('postgres', q{UPDATE plain SET status = 'paid' WHERE id = 1}, stderr => \my $error);
like($error, qr/cannot go from "shipped" to "paid"/, 'statements of the subscriber itself are judged');

# The subscriber that judges writes a history of its own.
$publisher->safe_psql('postgres', <<'SQL');
INSERT INTO judged SELECT i FROM generate_series(1, 3) AS i;
UPDATE judged SET status = 'paid' WHERE id < 3;
BEGIN;
UPDATE judged SET status = 'shipped' WHERE id = 1;
SAVEPOINT a;
UPDATE judged SET status = 'shipped' WHERE id = 2;
ROLLBACK TO a;
SELECT FROM idem_fire('judged', '1', 'close', 'evt');
INSERT INTO judged VALUES (4);
UPDATE judged SET status = status;
DELETE FROM judged WHERE id = 3;
COMMIT;
SQL
applied();
is(history($subscriber, 'judged'), history($publisher, 'judged'), 'with always, the histories are the same');
is(history($subscriber, 'judged') =~ tr/\n//, 7, 'each transition once');
is( $subscriber->safe_psql('postgres', q{SELECT count(DISTINCT xid) FROM idem_history WHERE attachment = 'public.judged.status'}),
	3, 'in the transactions that brought them');
is($subscriber->safe_psql('postgres', 'SELECT count(*) FROM idem_records'), '0', 'the ids of events stay with the publisher');

# Rows that move to another partition are sent as deleted and inserted, so a subscriber could not judge them.
$publisher->safe_psql('postgres', <<'SQL');
INSERT INTO moving SELECT i FROM generate_series(1, 3) AS i;
UPDATE moving SET status = 'paid' WHERE id < 3;
UPDATE moving SET status = 'shipped' WHERE id = 1;
SQL
applied();
is($subscriber->safe_psql('postgres', 'SELECT tableoid::regclass, * FROM moving ORDER BY id'),
	"moving_on|1|shipped\nmoving_on|2|paid\nmoving_new|3|new", 'rows change their partition');
is(history($subscriber, 'moving'), '', 'and are not judged');

# What the subscriber's machine does not allow stops the replication, and stores nothing of that transaction, until its
# machine allows it.
my $position = log_since($subscriber);
$publisher->safe_psql('postgres', <<'SQL');
SELECT idem_machine_define('order', ARRAY['new'],
	ARRAY[['new','paid','pay'],['new','closed','drop'],['paid','shipped','ship'],['shipped','closed','close']]);
BEGIN;
UPDATE judged SET status = 'shipped' WHERE id = 2;
UPDATE judged SET status = 'closed' WHERE id = 4;
COMMIT;
SQL
wait_for(sub { log_since($subscriber, $position) =~ /cannot go from "new" to "closed"/ }, 'refusal');
is($subscriber->safe_psql('postgres', 'SELECT * FROM judged ORDER BY id'), "1|closed\n2|paid\n4|new",
	'a transaction with a transition that the subscriber refuses is not applied');
is(history($subscriber, 'judged') =~ tr/\n//, 7, 'nor is half of it in the history');
is($subscriber->safe_psql('postgres', q{SELECT idem_machine_define('order', diagram) FROM idem_machines}), '1',
	'the subscriber has the old definition');
my $diagram = $publisher->safe_psql('postgres', q{SELECT diagram FROM idem_machines WHERE version = 2});
$subscriber->safe_psql('postgres', "SELECT idem_machine_define('order', \$\$$diagram\$\$)");
applied();
is($subscriber->safe_psql('postgres', 'SELECT * FROM judged ORDER BY id'), "1|closed\n2|shipped\n4|closed",
	'once it has the new one, the worker goes on');
is(history($subscriber, 'judged'), history($publisher, 'judged'), 'and the histories are the same again');

# A refresh of a subscriber that judges would insert rows far from their initial states.
$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION s; TRUNCATE plain, judged');
$position = log_since($subscriber);
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION s CONNECTION '$connection' PUBLICATION p");
wait_for(sub { log_since($subscriber, $position) =~ /a row cannot start with "(?:closed|shipped)"/ }, 'refusal of the copy');
is($subscriber->safe_psql('postgres', 'SELECT count(*) FROM judged'), 0, 'with always, a copy is judged as births');
$subscriber->safe_psql('postgres', q{SELECT idem_machine_attach('judged', 'status', 'order', history => true)});
copied();
is(join('=', both('SELECT string_agg(judged::text, \' \' ORDER BY id) FROM judged')),
	'(1,closed) (2,shipped) (4,closed)=(1,closed) (2,shipped) (4,closed)', 'without, it comes in');

done_testing();
