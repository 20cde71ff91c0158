// Running a command under the protection of the server, or without it as --if-unavailable says, and
// never silently.

#pragma once

#include <memory>
#include <optional>
#include <string>

#include "tool/asking.hpp"
#include "tool/options.hpp"
#include "tool/run.hpp"

namespace idem::tool {

class ProtectedRun {
 protected:
  explicit ProtectedRun(const CommonOptions &options);
  ~ProtectedRun() = default;

  // The exit status: that of run_on_server, unless the server is unavailable. `local_name` is what
  // excludes others in the local mode. Throws Unavailable when the options say so.
  int run_or_go_on(const RunOptions &options, const std::string &local_name);

  // May throw Unavailable as long as the command does not run.
  virtual int run_on_server(Asker &asker) = 0;

  const std::shared_ptr<Report> report_;
  const std::shared_ptr<Session> session_;
  // Only once there was an attempt to connect, which a signal may end.
  std::optional<SignalPipe> signals_;
  Extension extension_;
};

}  // namespace idem::tool
