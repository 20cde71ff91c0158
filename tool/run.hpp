// Running the command, again if it fails and shall be repeated, while a lease is kept.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tool/keeper.hpp"
#include "tool/options.hpp"
#include "tool/report.hpp"
#include "tool/session.hpp"
#include "tool/signals.hpp"
#include "tool/supervisor.hpp"

namespace idem::tool {

// What there is to keep.
struct Holding {
  std::string conninfo;
  std::shared_ptr<Session> session;
  Renewal renewal;
  Lease lease;
};

using Environment = std::map<std::string, std::string>;

struct Completion {
  Ending ending;
  double seconds = 0;
  std::optional<Capture> out;
  std::optional<Capture> err;
  // What is known of the lease at the end, and whether the server has said that it is lost.
  Lease lease;
  bool refused = false;
  // A connection to tell the server the end with.
  std::shared_ptr<Session> session;
  // The command had the terminal, and the user ended it there.
  bool interrupted = false;
};

// `holding` is null when nothing protects the command. Throws Failure.
Completion run_command(const RunOptions &options, std::optional<long> store_output,
                       const Environment &environment, const Holding *holding, SignalPipe &signals,
                       const std::shared_ptr<Report> &report);

}  // namespace idem::tool
