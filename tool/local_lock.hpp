// A lock among the processes of one user on one machine, for when there is no server.

#pragma once

#include <optional>
#include <string>

#include "tool/asking.hpp"
#include "tool/descriptor.hpp"

namespace idem::tool {

// Takes the lock of that name, waiting as long as `wait` says. Nothing when somebody else has it.
// It is held by this process and the guardian, so that it outlives a killed pgidem as long as its
// command. Throws Failure (kCannotCreate), Stopped.
std::optional<Descriptor> take_local_lock(const std::string &name, Duration wait, Asker &asker);

}  // namespace idem::tool
