#include "tool/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <stdexcept>

#include "tool/failure.hpp"
#include "tool/help.hpp"

namespace idem::tool {

namespace {

// The usage line in our own words: the arguments that CLI11 knows end where the command begins.
class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(std::string usage) : usage_(std::move(usage)) { column_width(30); }

  std::string make_usage(const CLI::App * /*app*/, std::string /*name*/) const override {
    return "Usage: pgidem " + usage_ + "\n";
  }

 private:
  std::string usage_;
};

CLI::App *add_command(CLI::App &app, const char *name, const char *usage, const char *description,
                      const std::string &footer) {
  CLI::App *command = app.add_subcommand(name, description);
  command->formatter(std::make_shared<HelpFormatter>(std::string(name) + " " + usage));
  command->footer(footer);
  return command;
}

// An option whose text `read` takes, or refuses by throwing std::invalid_argument.
template <typename Read>
CLI::Option *add_value(CLI::App *command, const std::string &names, const char *type, Read read,
                       const char *description) {
  const auto parse = [names, read](const std::string &text) {
    try {
      read(text);
    } catch (const std::invalid_argument &error) {
      throw CLI::ValidationError(names, error.what());
    }
  };
  return command->add_option_function<std::string>(names, parse, description)->type_name(type);
}

CLI::Option *add_text(CLI::App *command, const std::string &names, const char *type,
                      std::string &text, const char *description) {
  return command->add_option(names, text, description)->type_name(type);
}

CLI::Option *add_text(CLI::App *command, const std::string &names, const char *type,
                      std::optional<std::string> &text, const char *description) {
  return add_value(
      command, names, type, [&text](const std::string &value) { text = value; }, description);
}

template <typename Target>
CLI::Option *add_duration(CLI::App *command, const std::string &names, Target &target,
                          const char *description) {
  return add_value(
      command, names, "DURATION",
      [&target](const std::string &text) { target = parse_duration(text); }, description);
}

template <typename Choice>
CLI::Option *add_choice(CLI::App *command, const std::string &name,
                        std::vector<std::pair<std::string, Choice>> choices, Choice &target,
                        const char *description) {
  std::string type;
  for (const auto &choice : choices) type += (type.empty() ? "" : "|") + choice.first;
  const auto read = [choices, type, &target](const std::string &text) {
    for (const auto &choice : choices)
      if (choice.first == text) {
        target = choice.second;
        return;
      }
    throw std::invalid_argument("\"" + text + "\" is none of " + type);
  };
  return add_value(command, name, "WORD", read, description)->type_name(type);
}

void add_common(CLI::App *command, CommonOptions &options) {
  add_text(command, "-d,--dbname", "CONNINFO", options.conninfo,
           "the database: a name, key words and values, or a URI");
  command->add_flag("-v,--verbose", options.verbose, "say on stderr what is done");
}

void add_waiting(CLI::App *command, RunOptions &options) {
  const auto read_wait = [&options](const std::string &text) {
    options.wait = text == "forever" ? kForever : parse_duration(text);
  };
  add_value(command, "-w,--wait", "DURATION|forever", read_wait,
            "wait that long while somebody else has it");
  command->add_flag("-n,--nonblock", options.nonblock, "do not wait (the default)");
  add_value(
      command, "-E,--conflict-exit-code", "NUMBER",
      [&options](const std::string &text) { options.conflict_exit_code = parse_exit_code(text); },
      "the exit status when somebody else has it, 0 to 255; 1 unless given");
}

void add_running(CLI::App *command, RunOptions &options) {
  add_duration(command, "-k,--kill-after", options.kill_after,
               "when the lease is lost, SIGKILL that long after SIGTERM; 10s unless given");
  add_value(
      command, "--retry", "NUMBER",
      [&options](const std::string &text) { options.retries = parse_count(text, 0, 1000000); },
      "run the command again up to that often when it fails");
  add_value(
      command, "--backoff", "FIRST..LONGEST",
      [&options](const std::string &text) { options.backoff = parse_backoff(text); },
      "how long to wait before that, doubling; 1s..1m unless given");
  add_choice<IfUnavailable>(command, "--if-unavailable",
                            {{"fail", IfUnavailable::fail},
                             {"skip", IfUnavailable::skip},
                             {"run", IfUnavailable::run},
                             {"local", IfUnavailable::local}},
                            options.if_unavailable,
                            "when the server cannot be used: fail (exit status 69), skip the "
                            "command (0), run it unprotected, or hold a file lock on this machine");
  command->add_flag("--json", options.json, "say on stderr what is done, a JSON object a line");
}

void add_utc(CLI::App *command, bool &utc) {
  command->add_flag("--utc", utc, "expand {date} and the like in UTC");
}

std::string run_footer() {
  return std::string(help::kTemplates) + "\n" + help::kEnvironment + "\n" + help::kConnection +
         "\n" + help::kRunStatuses;
}

std::string operator_footer() {
  return std::string(help::kConnection) + "\n" + help::kOperatorStatuses;
}

void add_once(CLI::App &app, OnceOptions &options) {
  CLI::App *command =
      add_command(app, "once", "[OPTION]... TASK RUN-ID -- COMMAND [ARGUMENT]...",
                  "run a command unless this run of the task is already done", run_footer());
  add_text(command, "TASK", "", options.task, "what is done, such as nightly-report");
  add_text(command, "RUN-ID", "", options.run_id, "which run of it, such as {date}");
  add_text(command, "--key", "TEMPLATE", options.key, "the whole key, instead of TASK and RUN-ID");
  add_text(command, "-s,--scope", "SCOPE", options.scope, "the key's scope; pgidem unless given");
  add_utc(command, options.utc);
  add_duration(command, "--lease", options.lease,
               "how long the claim holds without a renewal; as the scope says unless given");
  add_duration(command, "--retain", options.retain,
               "how long the run is remembered; as the scope says unless given");
  add_text(command, "--fingerprint", "TEXT", options.fingerprint,
           "refuse the key when it was used with another text");
  add_waiting(command, options);
  add_choice<bool>(command, "--on-done", {{"skip", false}, {"fail", true}}, options.fail_when_done,
                   "when it is already done: skip (the stored exit status), or fail (3)");
  command->add_flag("--rerun", options.rerun, "run it again, under a number, when it is done");
  add_choice<bool>(command, "--on-failure", {{"release", false}, {"store", true}},
                   options.store_failure,
                   "when the command fails: release the key for the next caller, or store the "
                   "failure as final");
  add_value(
      command, "--store-output", "BYTES",
      [&options](const std::string &text) { options.store_output = parse_bytes(text); },
      "keep that many bytes each of stdout and stderr, for later callers to print");
  add_running(command, options);
  add_common(command, options);
}

void add_lock(CLI::App &app, LockOptions &options) {
  CLI::App *command = add_command(app, "lock", "[OPTION]... NAME -- COMMAND [ARGUMENT]...",
                                  "hold a lock while a command runs, like flock(1)", run_footer());
  add_text(command, "NAME", "", options.name, "the lock, such as backup or deploy-{host}")
      ->required();
  add_utc(command, options.utc);
  add_duration(command, "--ttl", options.lease,
               "how long the lock holds without a renewal; idem.default_lease unless given");
  add_waiting(command, options);
  add_duration(command, "--at-least", options.at_least,
               "keep others out until that long after the lock was granted");
  add_duration(command, "--delay", options.delay,
               "keep others out that much longer when the lock ends without being released");
  add_text(command, "--data", "JSON", options.data, "to be shown beside the lock");
  add_running(command, options);
  add_common(command, options);
}

void add_key(CLI::App *command, GetOptions &options) {
  add_text(command, "KEY", "", options.key, "the key, such as nightly-report:2024-06-01")
      ->required();
  add_text(command, "-s,--scope", "SCOPE", options.scope, "the key's scope; pgidem unless given");
  add_common(command, options);
  command->add_flag("--json", options.json, "print JSON");
}

void add_get(CLI::App &app, GetOptions &options) {
  add_key(add_command(app, "get", "[OPTION]... KEY", "show the record of a key", operator_footer()),
          options);
}

void add_forget(CLI::App &app, ForgetOptions &options) {
  CLI::App *command =
      add_command(app, "forget", "[OPTION]... KEY",
                  "delete the record of a key, so that it starts anew", operator_footer());
  add_key(command, options);
  command->add_flag("-f,--force", options.force, "even while somebody is working on it");
}

void add_resolve(CLI::App &app, ResolveOptions &options) {
  CLI::App *command = add_command(app, "resolve", "[OPTION]... KEY retry|finish|fail",
                                  "decide about a run whose owner was lost", operator_footer());
  add_key(command, options);
  const auto read = [&options](const std::string &text) {
    if (text != "retry" && text != "finish" && text != "fail")
      throw std::invalid_argument("\"" + text + "\" is none of retry, finish, fail");
    options.action = text;
  };
  add_value(command, "ACTION", "", read,
            "retry: the next caller starts; finish or fail: store a result or a failure")
      ->required();
  add_text(command, "--result", "JSON", options.result, "the result or failure to store");
  add_value(
      command, "--code", "NUMBER",
      [&options](const std::string &text) { options.code = std::to_string(parse_exit_code(text)); },
      "the exit status to store");
}

void add_locks(CLI::App &app, LocksOptions &options) {
  CLI::App *command =
      add_command(app, "locks", "[OPTION]...", "list the locks that are held", operator_footer());
  add_common(command, options);
  command->add_flag("--json", options.json, "print a JSON object a line");
}

void add_figures(CLI::App *command, StatOptions &options) {
  add_text(command, "-s,--scope", "SCOPE", options.scope, "records of this scope only");
  add_common(command, options);
  command->add_flag("--json", options.json, "print a JSON object a line");
}

void add_stat(CLI::App &app, StatOptions &options) {
  add_figures(add_command(app, "stat", "[OPTION]...",
                          "count records by scope and status, and show what cleanup does",
                          operator_footer()),
              options);
}

void add_top(CLI::App &app, TopOptions &options) {
  CLI::App *command = add_command(app, "top", "[OPTION]...",
                                  "watch the locks and the records in progress", operator_footer());
  add_figures(command, options);
  add_value(
      command, "--delay", "DURATION",
      [&options](const std::string &text) {
        options.delay = parse_duration(text);
        if (options.delay < std::chrono::milliseconds(100))
          throw std::invalid_argument("\"" + text + "\" is less than 100ms");
      },
      "how often to look; 2s unless given");
  add_value(
      command, "-n,--iterations", "NUMBER",
      [&options](const std::string &text) { options.frames = parse_count(text, 1, 1000000000); },
      "look that often, then end");
  command->add_flag("--once", options.once, "look once, then end");
}

// Everything the parser writes into.
struct Parsed {
  OnceOptions once;
  LockOptions lock;
  GetOptions get;
  ForgetOptions forget;
  ResolveOptions resolve;
  LocksOptions locks;
  StatOptions stat;
  TopOptions top;
  bool version = false;
};

void add_everything(CLI::App &app, Parsed &parsed) {
  app.formatter(std::make_shared<HelpFormatter>("COMMAND [OPTION]..."));
  app.footer("pgidem COMMAND --help says more of each.\n\n" + std::string(help::kConnection));
  app.require_subcommand(0, 1);
  app.add_flag("-V,--version", parsed.version, "print the version");
  add_once(app, parsed.once);
  add_lock(app, parsed.lock);
  add_get(app, parsed.get);
  add_forget(app, parsed.forget);
  add_resolve(app, parsed.resolve);
  add_locks(app, parsed.locks);
  add_stat(app, parsed.stat);
  add_top(app, parsed.top);
}

[[noreturn]] void usage(const std::string &message) {
  throw Failure(kUsage, message);
}

// A shorter lease could not be renewed in time on a busy machine.
void check_run(const RunOptions &options, const char *lease) {
  if (options.lease && *options.lease < std::chrono::seconds(1))
    usage(std::string(lease) + ": less than a second cannot be kept up");
  if (options.nonblock && options.wait > Duration(0)) usage("either --wait or --nonblock");
  if (options.command.empty()) usage("which command? It follows after --");
}

void check_once(const OnceOptions &options) {
  const bool parts = !options.task.empty() || !options.run_id.empty();
  if (options.key.empty() && (options.task.empty() || options.run_id.empty()))
    usage("TASK and RUN-ID, or --key, must be given and not be empty");
  if (!options.key.empty() && parts)
    usage("--key stands for TASK and RUN-ID: give one or the other");
  check_run(options, "--lease");
}

void check_top(TopOptions &options) {
  if (options.once && options.frames) usage("either --once or --iterations");
  if (options.once) options.frames = 1;
}

void check_resolve(const ResolveOptions &options) {
  if (options.action == "retry" && (options.result || options.code))
    usage("retry stores nothing: leave out --result and --code");
}

Options chosen(const CLI::App &app, Parsed &parsed, const Command &command) {
  if (parsed.version) return Text{"pgidem " IDEM_VERSION "\n"};
  if (app.get_subcommands().empty()) usage("which command? pgidem --help lists them");
  const std::string name = app.get_subcommands()[0]->get_name();
  if (name == "once") {
    parsed.once.command = command;
    check_once(parsed.once);
    return parsed.once;
  }
  if (name == "lock") {
    parsed.lock.command = command;
    check_run(parsed.lock, "--ttl");
    return parsed.lock;
  }
  if (!command.empty()) usage("pgidem " + name + " runs no command: \"" + command[0] + "\"");
  if (name == "get") return parsed.get;
  if (name == "forget") return parsed.forget;
  if (name == "locks") return parsed.locks;
  if (name == "stat") return parsed.stat;
  if (name == "top") {
    check_top(parsed.top);
    return parsed.top;
  }
  check_resolve(parsed.resolve);
  return parsed.resolve;
}

}  // namespace

Options parse_options(int argc, char **argv) {
  Command arguments(argv + std::min(argc, 1), argv + argc);
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  const Command command(dashes == arguments.end() ? dashes : dashes + 1, arguments.end());
  arguments.erase(dashes, arguments.end());
  CLI::App app{help::kDescription, "pgidem"};
  Parsed parsed;
  add_everything(app, parsed);
  // CLI11 takes them from the end.
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(arguments);
  } catch (const CLI::CallForHelp &) {
    const auto subcommands = app.get_subcommands();
    return Text{subcommands.empty() ? app.help() : subcommands[0]->help()};
  } catch (const CLI::ExtrasError &) {
    // CLI11 would list them from the end.
    usage("there are too many arguments; a command to run follows after --");
  } catch (const CLI::ParseError &error) {
    usage(error.what());
  }
  return chosen(app, parsed, command);
}

}  // namespace idem::tool
