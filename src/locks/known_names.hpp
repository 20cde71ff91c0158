// The names of session and transaction locks that this session holds or waits for. Whether it
// still holds one, only the lock manager knows: a name leaves when a (sub)transaction has ended, or
// the session, and the lock manager has no lock of this session under it.

#pragma once

#include <cstdint>

#include "locks/lock_name.hpp"
#include "server/prelude.hpp"

namespace idem::locks {

struct KnownName {
  LockName name;
  std::uint64_t number;  // what the lock's tag is made of
  // Of the present hold. A transaction that cannot write gets no token.
  bool has_token;
  std::int64_t token;
  TimestampTz acquired_at;
};

// Call before waiting for the lock. Raises 53200 when the registry has no room. What is returned
// lives until the name is forgotten, be it because a subtransaction fails.
KnownName *know(const LockName &name);

// Null when the session neither holds it nor waits.
KnownName *find_known(const LockName &name);

LOCKTAG tag_of(const KnownName &known);

void forget_unless_held(const LockName &name);

// The known name with that number, or null.
const KnownName *known_by_number(std::uint64_t number);

}  // namespace idem::locks
