// The names of session and transaction locks that are in use anywhere on the server, each with a
// serial number that is never given out again. The lock manager knows a lock by 64 bits; a serial
// number stands for one whole name, which a hash does not. Lives in shared memory. Without preload
// nothing is there: registry_available() is false and nothing else may be called.

#pragma once

#include <cstdint>

#include "locks/lock_name.hpp"
#include "server/prelude.hpp"

namespace idem::locks {

// Who has a lock. Only for people to read: the lock manager decides.
struct Holder {
  int pid;  // 0: nobody
  bool has_token;
  std::int64_t token;
  TimestampTz acquired_at;
  char name[NAMEDATALEN];
};

struct Registered {
  LockName name;
  std::uint64_t serial;
  int references;
  Holder holder;
};

// Asks the server for the memory. Call from _PG_init while the library is preloaded.
void reserve_registry();
bool registry_available();

// A session refers to a name from before it waits for the lock until it neither holds it nor waits;
// as long as anybody refers to it, the name keeps its number. False when there is no room.
bool refer(const LockName &name, std::uint64_t *serial);
void stop_referring(const LockName &name);

void note_holder(const LockName &name, const Holder &holder);

// False when nobody is known to have the lock.
bool holder_of(const LockName &name, Holder *holder);

// The names of this session's database, sorted by their numbers, in the current memory context.
struct RegisteredNames {
  const Registered *names;
  int count;
};
RegisteredNames registered_names();

}  // namespace idem::locks
