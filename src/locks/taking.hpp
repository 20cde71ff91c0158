// Taking a session or transaction lock by its name, waiting for it as long as the caller wants.

#pragma once

#include <cstdint>

#include "locks/known_names.hpp"
#include "locks/manager.hpp"
#include "server/prelude.hpp"

namespace idem::locks {

// Unbounded means: as long as the server lets us.
struct Patience {
  bool bounded;
  TimestampTz deadline;
};

struct Taken {
  std::int64_t times;  // how often this session or transaction has the lock now; 0: not taken
  KnownName *known;    // only when taken
  bool is_new;         // this session did not have it in any way
};

// Raises what a lock wait raises, also 55P03 when lock_timeout ends it before the deadline.
Taken take(const LockName &name, Kind kind, const Patience &patience);

}  // namespace idem::locks
