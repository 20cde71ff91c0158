// The command line, read and checked.

#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tool/exit_codes.hpp"
#include "tool/values.hpp"

namespace idem::tool {

using Command = std::vector<std::string>;

struct CommonOptions {
  std::string conninfo;
  bool verbose = false;
  bool json = false;
};

enum class IfUnavailable { fail, skip, run, local };

// What once and lock have in common.
struct RunOptions : CommonOptions {
  Duration wait{0};  // kForever: as long as it takes
  bool nonblock = false;
  int conflict_exit_code = kConflict;
  std::optional<Duration> lease;
  Duration kill_after = std::chrono::seconds(10);
  long retries = 0;
  Backoff backoff = {std::chrono::seconds(1), std::chrono::minutes(1)};
  IfUnavailable if_unavailable = IfUnavailable::fail;
  Command command;
};

struct OnceOptions : RunOptions {
  std::string task;
  std::string run_id;
  std::string key;
  std::string scope = "pgidem";
  bool utc = false;
  std::optional<Duration> retain;
  std::optional<std::string> fingerprint;
  bool fail_when_done = false;
  bool rerun = false;
  bool store_failure = false;
  std::optional<long> store_output;
};

struct LockOptions : RunOptions {
  std::string name;
  bool utc = false;
  std::optional<Duration> at_least;
  std::optional<Duration> delay;
  std::optional<std::string> data;
};

struct GetOptions : CommonOptions {
  std::string key;
  std::string scope = "pgidem";
};

struct ForgetOptions : GetOptions {
  bool force = false;
};

struct ResolveOptions : GetOptions {
  std::string action;
  std::optional<std::string> result;
  std::optional<std::string> code;
};

struct LocksOptions : CommonOptions {};

struct StatOptions : CommonOptions {
  std::optional<std::string> scope;
};

struct TopOptions : StatOptions {
  Duration delay = std::chrono::seconds(2);
  std::optional<long> frames;
  bool once = false;
};

// Something to print, and nothing else to do.
struct Text {
  std::string text;
};

using Options = std::variant<Text, OnceOptions, LockOptions, GetOptions, ForgetOptions,
                             ResolveOptions, LocksOptions, StatOptions, TopOptions>;

// Throws Failure (kUsage) for a command line that is not right.
Options parse_options(int argc, char **argv);

}  // namespace idem::tool
