// The texts of --help that are not those of a single option.

#pragma once

namespace idem::tool::help {

inline constexpr char kDescription[] =
    "Run it once, anywhere: idempotency records and locks of pg_idem for the shell.";

inline constexpr char kConnection[] =
    "The server is found as psql finds it: by the PG* variables, the service file, the password\n"
    "file, and -d with a database's name, key words and values, or a URI.\n";

inline constexpr char kTemplates[] =
    "In TASK, RUN-ID, --key and NAME, the following words in braces stand for\n"
    "  {year} {month} {week} {date} {hour} {minute}\n"
    "                 the present period, as in 2024, 2024-06, 2024-W22, 2024-06-01, "
    "2024-06-01T13\n"
    "                 and 2024-06-01T13:45; of local time, or of UTC with --utc\n"
    "  {yesterday}    the date before\n"
    "  {date:FORMAT}  the time as strftime(3) formats it\n"
    "  {host} {user}  the name of this machine, and of the user\n"
    "  {env:NAME}     an environment variable, which must be set\n"
    "  {{ and }}      the braces themselves\n";

inline constexpr char kEnvironment[] =
    "The command finds in its environment PGIDEM_TOKEN, the fencing token, and PGIDEM_LOCK; or "
    "with\n"
    "once PGIDEM_SCOPE and PGIDEM_KEY, PGIDEM_ATTEMPT, greater than 1 when an earlier owner was\n"
    "lost, PGIDEM_CHECKPOINT, if that has left one, and PGIDEM_RUN, greater than 1 with --rerun.\n";

inline constexpr char kRunStatuses[] =
    "Exit status: that of the command, or 128 + N when signal N ended it; or\n"
    "    1  somebody else has it (--conflict-exit-code chooses another number)\n"
    "    3  already done, and --on-done is fail\n"
    "    4  abandoned, and an operator has to decide: see pgidem resolve\n"
    "   64  the command line is not right\n"
    "   65  the key was used with another --fingerprint\n"
    "   69  the server, the extension, or write access to it is not available\n"
    "   70  the server reported an error\n"
    "   71  this machine refused a process, a pipe or the like\n"
    "   73  the file for --if-unavailable local cannot be made\n"
    "   74  the command succeeded and the server did not take its result\n"
    "   75  the lease was lost, and the command was stopped\n"
    "   77  the role lacks a privilege\n"
    "  126  the command cannot be executed\n"
    "  127  there is no such command\n";

inline constexpr char kOperatorStatuses[] =
    "Exit status: 0, or\n"
    "   64  the command line is not right\n"
    "   66  there is no such key\n"
    "   69  the server, the extension, or write access to it is not available\n"
    "   70  the server reported an error\n"
    "   77  the role lacks a privilege\n";

}  // namespace idem::tool::help
