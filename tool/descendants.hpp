// Everything that a command has started, wherever it has gone.

#pragma once

#include <sys/types.h>

#include <vector>

namespace idem::tool {

// Makes this process the parent of descendants whose parents end, so that none can slip away. Where
// the system cannot do that, only the command's process group is in reach.
void adopt_orphans();

// The descendants of a process, as far as the system shows them.
std::vector<pid_t> descendants_of(pid_t ancestor);

// Kills them, except one. Whether there were any; then they take a moment to be gone.
bool kill_descendants(pid_t ancestor, pid_t except);

}  // namespace idem::tool
