# A backend or the whole server dies in the middle of the work.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;

my $node = idem_node('crash', restart_after_crash => 'on');
$node->safe_psql('postgres', 'CREATE TABLE effects (key text)');

sub begin
{
	my ($key) = @_;
	return $node->safe_psql('postgres',
		"SELECT outcome, attempt, result, checkpoint, checkpoint_data FROM idem_begin('$key', wait => '0')");
}

# What a transaction has not committed never happened.
my $session = IdemTest::Session->new($node);
is($session->query("BEGIN; SELECT outcome FROM idem_begin('open'); INSERT INTO effects VALUES ('open');"),
	'started', 'a key is claimed');
is(begin('open'), 'in_progress||||', 'and nobody else gets it');
kill_and_recover($node, $session->backend);
$session->close;
is(begin('open'), 'started|1|||', 'killed before the commit: the key is free at once');

# A committed claim outlives its owner, until its lease is over.
$session = IdemTest::Session->new($node);
$session->query("SELECT FROM idem_begin('live', lease => '1 hour');");
$session->query("SELECT FROM idem_begin('brief', lease => '1 s'); SELECT idem_checkpoint('brief', 'paid', '{\"id\": 7}');");
kill_and_recover($node, $session->backend);
$session->close;
is(begin('live'), 'in_progress|1|||', 'killed with a claim committed: the lease goes on');
my $answer;
wait_for(sub { ($answer = begin('brief')) !~ /^in_progress/ }, 'end of the lease');
is($answer, 'started|2||paid|{"id": 7}', 'the successor resumes at the checkpoint when the lease is over');

# A heartbeat that was not committed prolongs nothing, and neither does a checkpoint count.
$session = IdemTest::Session->new($node);
$session->query("SELECT FROM idem_begin('beat', lease => '1 s');");
is( $session->query(
		"BEGIN; SELECT idem_extend('beat', lease => '1 hour') > clock_timestamp();
		SELECT idem_checkpoint('beat', 'lost') IS NULL;"),
	"t\nf", 'a heartbeat and a checkpoint are written');
kill_and_recover($node, $session->backend);
$session->close;
wait_for(sub { ($answer = begin('beat')) !~ /^in_progress/ }, 'end of the lease');
is($answer, 'started|2|||', 'killed before their commit: they do not count');

# The server stops between finish and commit, and after the commit.
$session = IdemTest::Session->new($node);
is( $session->query(
		"BEGIN; SELECT outcome FROM idem_begin('lost'); INSERT INTO effects VALUES ('lost');
		SELECT idem_finish('lost', '1');"),
	"started\nfinished", 'a result is stored and not committed');
my $committed = IdemTest::Session->new($node);
is( $committed->query(
		"BEGIN; SELECT outcome FROM idem_begin('kept'); INSERT INTO effects VALUES ('kept');
		SELECT idem_finish('kept', '2'); COMMIT;"),
	"started\nfinished", 'another one is committed');
$node->stop('immediate');
$session->close;
$committed->close;
$node->start;
is(begin('kept'), 'replayed|1|2||', 'the committed result is replayed after the crash');
is(begin('lost'), 'started|1|||', 'the other key is free');
is($node->safe_psql('postgres', 'SELECT key FROM effects'), 'kept', 'and only the committed effect is there');

done_testing();
