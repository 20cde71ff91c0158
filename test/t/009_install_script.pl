# The install script names everything in full, and creates what it owns without looking the other way: an object
# that somebody else made before must not become part of the extension.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Utils;
use Test::More;

# Words that SQL puts before a parenthesis.
my %keyword = map { $_ => 1 } qw(as by check default exists in key materialized not on operator range unique using values varying with);

sub complaints
{
	my ($sql) = @_;
	my @found;
	$sql =~ s/--[^\n]*//g;
	$sql =~ s{/\*.*?\*/}{}gs;
	push @found, $1 while $sql =~ /(OR\s+REPLACE|IF\s+(?:NOT\s+)?EXISTS|SET\s+search_path|CASCADE)/gi;
	push @found, "body in another language than C: $1" while $sql =~ /\bLANGUAGE\s+(?!C\b)(\w+)/gi;
	$sql =~ s/'(?:[^']|'')*'/''/g;
	# Storage parameters, and the qualified names of operators.
	$sql =~ s/\)\s*WITH\s*\([^()]*\)/)/g;
	$sql =~ s/OPERATOR\(pg_catalog\.[-+*\/<>=~!@#%^&|`?]+\)/OPERATOR/g;
	push @found, "cast to an unqualified type: $1" while $sql =~ /::\s*(?!pg_catalog\.)(\S+)/g;
	$sql =~ s/::\s*pg_catalog\.\w+//g;
	$sql =~ s/\@extschema\@\./schema./g;
	push @found, "operator: $1" while $sql =~ /([-+*\/<>=~!@#%^&|`?]+)/g;
	while ($sql =~ /(?<![\w.])(\w+)\s*\(/g)
	{
		push @found, "function or relation: $1" unless $keyword{ lc $1 };
	}
	push @found, "unqualified object: $1"
	  while $sql =~ /\bCREATE\s+(?:FUNCTION|TABLE|TYPE|VIEW|SEQUENCE)\s+(?!schema\.)(\S+)/gi;
	return @found;
}

# The check itself must be able to fail.
my @offences = (
	"SELECT a = b", "SELECT lower(x)", "CREATE OR REPLACE FUNCTION \@extschema\@.f() RETURNS int AS 'x' LANGUAGE C",
	"CREATE TABLE IF NOT EXISTS \@extschema\@.t (a int)", "SELECT '0'::interval", 'CREATE TABLE t (a int)');
for my $offence (@offences)
{
	isnt(scalar(complaints($offence)), 0, "refused: $offence");
}

my @scripts = glob "$FindBin::RealBin/../../pg_idem--*.sql";
isnt(scalar(@scripts), 0, 'there is an install script');
for my $script (@scripts)
{
	my ($name) = $script =~ m{([^/]+)$};
	is(join("\n", complaints(slurp_file($script))), '', "$name: everything is named in full");
}

done_testing();
