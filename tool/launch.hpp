// Starting the command.

#pragma once

#include <sys/types.h>

#include "tool/descriptor.hpp"
#include "tool/options.hpp"
#include "tool/signals.hpp"

namespace idem::tool {

struct Launch {
  Command command;
  const SignalState *signals = nullptr;
  // What stdout and stderr are to be; -1: what they are.
  int out = -1;
  int err = -1;
  // The terminal to put the command into the foreground of, if this group has it; -1: none.
  int terminal = -1;
  pid_t group = 0;
};

struct Launched {
  pid_t process = -1;
  // Delivers errno when the command cannot be executed, and ends when it is.
  Descriptor trouble;
};

// In a process group of its own, and killed by the system when this process ends. Throws Failure.
Launched launch(const Launch &launch);

}  // namespace idem::tool
