// Going on without the server, as --if-unavailable says, and never silently.

#pragma once

#include <memory>
#include <string>

#include "tool/asking.hpp"
#include "tool/options.hpp"
#include "tool/run.hpp"

namespace idem::tool {

// The exit status. `name` is what excludes others in the local mode. Throws the reason again when
// the options say so.
int go_on_without(const Unavailable &reason, const RunOptions &options, const std::string &name,
                  SignalPipe &signals, Asker &asker, const std::shared_ptr<Report> &report);

}  // namespace idem::tool
