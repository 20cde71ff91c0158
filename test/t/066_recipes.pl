# The recipes of doc/recipes.md, taken from it and run as they stand. Only what a test cannot have is replaced: the
# directory of programs, the address of the server, and the programs that the recipes run.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CPAN::Meta::YAML;
use Cwd 'realpath';
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IdemTest;

$ENV{TZ} = noon();
my $root = realpath("$FindBin::RealBin/../..");
plan skip_all => 'the tool is not built' unless -x "$root/pgidem";

my $home = PostgreSQL::Test::Utils::tempdir;
my $bin = "$home/bin";
my $log = "$home/log";
my %recipes = recipes("$root/doc/recipes.md");

my $node = PostgreSQL::Test::Cluster->new('recipes');
$node->init;
$node->start;

# {heading}{language}: the blocks, in their order.
sub recipes
{
	my ($file) = @_;
	my ($heading, %found) = ('');
	my $text = slurp_file($file);
	while ($text =~ /^(?:## ([^\n]*)|```(\w+)\n(.*?)^```)$/msg)
	{
		if (defined $1) { $heading = $1 }
		else { push @{ $found{$heading}{$2} }, $3 }
	}
	return %found;
}

sub recipe
{
	my ($heading, $language, $number) = @_;
	my $text = $recipes{$heading}{$language}[ $number // 0 ];
	die "no such recipe: $heading, $language" unless defined $text;
	$text =~ s{/tmp/}{$home/}g;
	$text =~ s{/usr/local/bin}{$bin}g;
	return $text;
}

sub write_file
{
	my ($file, $text, $mode) = @_;
	open my $out, '>', $file or die "$file: $!";
	print $out $text;
	close $out or die "$file: $!";
	chmod $mode, $file if defined $mode;
	return;
}

# A program that notes its call, and who called it, waits while the file "hold" is there, and fails when the file "fail"
# holds its last argument.
sub stand_in
{
	my ($name) = @_;
	write_file("$bin/$name", <<"END", 0755);
#!/bin/sh
ps -o ppid= -p "\$PPID" >"$home/parents"
echo "\$PPID" >>"$home/parents"
echo "$name" "\$@" >>"$log"
while [ -e "$home/hold" ]; do /bin/sleep 0.02; done
last=
for last; do :; done
[ ! -e "$home/fail" ] || [ "\$(cat "$home/fail")" != "\$last" ] || exit 5
END
	return;
}

# What was called since the last look.
sub called
{
	my @calls = -e $log ? split(/\n/, slurp_file($log)) : ();
	unlink $log;
	return \@calls;
}

sub holding { return write_file("$home/hold", '') }
sub let_go { return unlink "$home/hold" }

# No run of this test sees a change of the date: here it is noon.
sub noon { return sprintf 'NOON%+d', (gmtime)[2] - 12 }

# cron gives its jobs next to nothing.
sub bare_environment
{
	return (TZ => $ENV{TZ}, HOME => $home, LOGNAME => 'jobs', SHELL => '/bin/sh', PATH => '/usr/bin:/bin', @_);
}

# Starts a program with this environment and no other.
sub start
{
	my ($environment, @command) = @_;
	local %ENV = %$environment;
	my $process = { output => '' };
	$process->{run} = IPC::Run::start(\@command, '<', \undef, '>&', \$process->{output});
	return $process;
}

sub finish
{
	my ($process) = @_;
	$process->{run}->finish;
	$process->{status} = $process->{run}->full_result >> 8;
	return $process->{status};
}

# Waits until the stand-ins have been called so often.
sub until_called
{
	my ($process, $times) = @_;
	wait_for(
		sub {
			die "ended too early: $process->{output}" unless $process->{run}->pumpable;
			$process->{run}->pump_nb;
			return -e $log && slurp_file($log) =~ tr/\n// == $times;
		},
		"$times calls");
	return;
}

sub shell
{
	my ($command, %environment) = @_;
	return start({ bare_environment(PATH => "$bin:/usr/bin:/bin", PGSERVICE => 'jobs', %environment) }, '/bin/sh', '-c',
		$command);
}

sub shell_status { return finish(shell(@_)) }

# The one job of a crontab, started as cron does.
sub cron
{
	my ($crontab) = @_;
	my %environment = bare_environment();
	my @jobs;
	for my $line (split /\n/, $crontab)
	{
		if ($line =~ /^(\w+)=(.*)$/) { $environment{$1} = $2 }
		else { push @jobs, $line }
	}
	die "not one job: $crontab" if @jobs != 1;
	my ($times, $command) = $jobs[0] =~ /^((?:[\d*\/,-]+ ){5})(.*)$/ or die "not a job: $jobs[0]";
	die "cron ends the command at %: $command" if $command =~ /(?<!\\)%/;
	$command =~ s/\\%/%/g;
	return start(\%environment, '/bin/sh', '-c', $command);
}

sub words
{
	my ($text) = @_;
	return split ' ', $text;
}

sub key_of_the_day
{
	chomp(my $day = `date +%F`);
	return "nightly-report:$day";
}

sub forget { return is(shell_status("pgidem forget -d 'service=jobs user=jobs_admin' $_[0]"), 0, "$_[0] is forgotten") }

sub test_setting_up
{
	mkdir $bin or die "$bin: $!";
	symlink "$root/pgidem", "$bin/pgidem" or die $!;
	symlink "$ENV{IDEM_BINDIR}/psql", "$bin/psql" or die $!;
	stand_in($_) for qw(nightly-report mailer load-day remind rotate-logs);
	$node->safe_psql('postgres', $_) for @{ $recipes{'Before the first'}{sql} };
	$node->safe_psql('postgres', "SELECT idem_scope_set('pgidem', lease => '3 s')");
	my $service = recipe('Before the first', 'ini');
	my ($host, $port) = ($node->host, $node->port);
	like($service, qr/^host=.*\nport=.*\n/m, 'the service has an address');
	$service =~ s/^host=.*$/host=$host/m;
	$service =~ s/^port=.*$/port=$port/m;
	write_file("$home/.pg_service.conf", $service);
	return;
}

sub test_crontab
{
	my $crontab = recipe('A crontab on several machines', 'crontab');
	holding();
	my @machines = (cron($crontab));
	until_called($machines[0], 1);
	push @machines, cron($crontab);
	wait_until($node, "(SELECT count(DISTINCT pid) > 2 FROM pg_stat_activity WHERE usename = 'jobs')", 'the second asks');
	let_go();
	is(finish($_), 0, 'a machine is content') for @machines;
	is_deeply(called(), ['nightly-report'], 'the report ran once');
	is(finish(cron($crontab)), 0, 'later the same day');
	is_deeply(called(), [], 'it does not run again');
	return;
}

sub test_crontab_after_a_crash
{
	my $crontab = recipe('A crontab on several machines', 'crontab');
	forget(key_of_the_day());
	holding();
	my $first = cron($crontab);
	until_called($first, 1);
	my $second = cron($crontab);
	kill 'KILL', split(' ', slurp_file("$home/parents"));
	isnt(finish($first), 0, 'pgidem is killed on the first machine');
	until_called($second, 2);
	let_go();
	is(finish($second), 0, 'and succeeds');
	is_deeply(called(), [ 'nightly-report', 'nightly-report' ], 'having run the report');
	return;
}

sub test_flock
{
	my ($before, $after) = map { recipe('In place of flock -n', 'crontab', $_) } 0, 1;
	for my $crontab ($before, $after)
	{
		holding();
		my $first = cron($crontab);
		until_called($first, 1);
		is(finish(cron($crontab)), 1, 'the next one does not wait');
		let_go();
		is(finish($first), 0, 'the first one ends');
		is(finish(cron($crontab)), 0, 'then it may run again');
		is_deeply(called(), [ 'mailer', 'mailer' ], 'twice, one after the other');
	}
	return;
}

sub test_systemd
{
	my ($service, $timer) = map { recipe('A systemd timer', 'ini', $_) } 0, 1;
	write_file("$home/nightly-report.service", $service);
	write_file("$home/nightly-report.timer", $timer);
  SKIP:
	{
		my @verify = ('systemd-analyze', 'verify', '--man=no', map { "$home/nightly-report.$_" } qw(service timer));
		skip 'no systemd here', 1 unless grep { -x "$_/systemd-analyze" } split /:/, $ENV{PATH};
		my $complaints = '';
		IPC::Run::run(\@verify, '<', \undef, '>&', \$complaints);
		is($complaints, '', 'systemd has nothing to say about the units');
	}
	my ($variable, $value) = $service =~ /^Environment=(\w+)=(.*)$/m;
	my ($command) = $service =~ /^ExecStart=(.*)$/m;
	forget(key_of_the_day());
	for my $calls (['nightly-report'], [])
	{
		is(finish(start({ bare_environment($variable => $value) }, words($command))), 0, 'the service succeeds');
		is_deeply(called(), $calls, 'once on this day');
	}
	return;
}

sub test_kubernetes
{
	my $manifest = CPAN::Meta::YAML->read_string(recipe('A Kubernetes CronJob', 'yaml'))->[0];
	is("$manifest->{apiVersion} $manifest->{kind}", 'batch/v1 CronJob', 'the manifest is a CronJob');
	like($manifest->{spec}{schedule}, qr/^(?:[\d*\/,-]+ ?){5}$/, 'with a schedule');
	my ($container) = @{ $manifest->{spec}{jobTemplate}{spec}{template}{spec}{containers} };
	my %environment = map { $_->{name} => $_->{value} // 'secret' } @{ $container->{env} };
	is($environment{PGPASSWORD}, 'secret', 'the password comes from a secret');
	@environment{qw(PGHOST PGPORT)} = ($node->host, $node->port);
	wait_for(sub { time % 86400 < 86340 }, 'not the last minute of the day in UTC', 1);
	chomp(my $day = `date -u +%F`);
	forget("nightly-report:$day");
	for my $calls (['nightly-report'], [])
	{
		my $pod = start({ PATH => "$bin:/usr/bin:/bin", %environment }, @{ $container->{command} });
		is(finish($pod), 0, 'the pod succeeds');
		is_deeply(called(), $calls, 'once on this day');
	}
	return;
}

sub test_load
{
	my $heading = 'A nightly load keyed by date';
	write_file("$bin/load-missing", recipe($heading, 'sh', 0), 0755);
	my @days = map { my $day = `date -d '$_ days ago' +%F`; chomp $day; $day } reverse 1 .. 7;
	my $crontab = recipe($heading, 'crontab');
	write_file("$home/fail", "$days[2]\n");
	is(finish(cron($crontab)), 5, 'the third day cannot be loaded');
	is_deeply(called(), [ map { "load-day $_" } @days[ 0 .. 2 ] ], 'and ends the night');
	unlink "$home/fail";
	is(finish(cron($crontab)), 0, 'the next night');
	is_deeply(called(), [ map { "load-day $_" } @days[ 2 .. 6 ] ], 'goes on there');
	is(finish(cron($crontab)), 0, 'the one after it');
	is_deeply(called(), [], 'has nothing to do');

	my $once = 'pgidem once load-sales 2024-03-31 -- load-day 2024-03-31';
	is(shell_status($once), 0, 'a day is loaded') for 1 .. 2;
	is_deeply(called(), ['load-day 2024-03-31'], 'once');
	is(shell_status(recipe($heading, 'sh', 1)), 0, 'and again on purpose');
	is_deeply(called(), ['load-day 2024-03-31'], 'which runs');
	my $look = shell((split /\n/, recipe($heading, 'sh', 2))[0]);
	is(finish($look), 0, 'its record is there');
	like($look->{output}, qr/finished/, 'and finished');
	is(shell_status((split /\n/, recipe($heading, 'sh', 2))[1]), 0, 'it is forgotten');
	is(shell_status($once), 0, 'and starts anew');
	is_deeply(called(), ['load-day 2024-03-31'], 'which runs');
	return;
}

sub balance { return $node->safe_psql('postgres', 'SELECT balance FROM accounts') }

sub test_fence
{
	my $heading = 'A script that writes behind a fence';
	$node->safe_psql('postgres', 'CREATE TABLE accounts (id int PRIMARY KEY, balance numeric)');
	$node->safe_psql('postgres', 'INSERT INTO accounts VALUES (1, 100); GRANT SELECT, UPDATE ON accounts TO jobs');
	write_file("$bin/add-interest", recipe($heading, 'sh'), 0755);
	is(finish(cron(recipe($heading, 'crontab'))), 0, 'the holder of the lock writes');
	is(balance(), 101, 'what it should');
	my $late = shell('add-interest', PGIDEM_LOCK => 'interest', PGIDEM_TOKEN => 1);
	isnt(finish($late), 0, 'one with an old token does not');
	like($late->{output}, qr/the token is not that of the present holder of lock "interest"/, 'because of the fence');
	is(balance(), 101, 'the balance is as it was');
	return;
}

sub test_key
{
	my $command = recipe('Keys that say whose they are', 'sh');
	is(shell_status($command), 0, 'a key in the shell') for 1 .. 2;
	is_deeply(called(), ['remind 1001'], 'reminds once');
	is( $node->safe_psql(
			'postgres', "SELECT status FROM idem_get(idem_key('billing', 'invoice-1001', 'remind'), 'pgidem')"),
		'finished',
		'it is the key that SQL makes');
	return;
}

# Dates that an older batch had done are done for pgidem as well.
sub test_processed_dates
{
	my ($create, $take_over) = @{ $recipes{'A table of processed dates that exists already'}{sql} };
	$take_over =~ s/p\.day::text,/idem_key('load-sales', p.day::text),/ and $take_over =~ s/'sales-by-day'/'pgidem'/
	  or die "another statement takes over: $take_over";
	like($node->safe_psql('postgres', $create . $take_over), qr/^finished\|2$/m, 'two dates are taken over');
	is(shell_status('pgidem once load-sales 2024-03-27 -- load-day 2024-03-27'), 0, 'pgidem knows one of them');
	is_deeply(called(), [], 'and does not load it');
	return;
}

sub test_without_a_server
{
	$node->stop;
	is(shell_status('pgidem once nightly-report {date} -- nightly-report'), 69, 'without the server nothing runs');
	is_deeply(called(), [], 'indeed');
	my @calls = ([], ['mailer'], ['rotate-logs']);
	for my $command (split /\n/, recipe('When the database cannot be reached', 'sh'))
	{
		my $process = shell($command);
		is(finish($process), 0, $command);
		is_deeply(called(), shift @calls, 'runs what it should');
		isnt($process->{output}, '', 'and says so');
	}
	return;
}

test_setting_up();
test_crontab();
test_crontab_after_a_crash();
test_flock();
test_systemd();
test_kubernetes();
test_load();
test_fence();
test_key();
test_processed_dates();
test_without_a_server();

done_testing();
