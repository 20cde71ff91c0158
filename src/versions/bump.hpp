// The row that idem_cas() is changing, for the check: who compared the version in the WHERE clause
// has said which one was read, whatever the mode has others write.

#pragma once

#include <cstdint>

#include "server/inheritance.hpp"
#include "server/prelude.hpp"

namespace idem::versions {

struct Swap {
  Oid table;  // or InvalidOid, also once the row has been met
  std::int64_t expected;
  // Of the call. Rows that triggers of the statement change in their turn are deeper than its own.
  int depth;
  // Also where nothing differs but what is ignored.
  bool raises;
};

// Whoever sets it puts the former one back, also after an error.
extern Swap swap;

// Of triggers within triggers.
inline int trigger_depth() {
  return DatumGetInt32(DirectFunctionCall1(pg_trigger_depth, Datum{0}));
}

// Whether this is the row, told once.
inline bool take_swap(Relation relation, std::int64_t stored) {
  if (likely(!OidIsValid(swap.table))) return false;
  if (stored != swap.expected || trigger_depth() != swap.depth + 1 ||
      !server::descends_from(RelationGetRelid(relation), swap.table))
    return false;
  swap.table = InvalidOid;
  return true;
}

}  // namespace idem::versions
