// Deleting rows without the executor, where nothing but the table itself is concerned: one visit to
// the row and no lock before it is deleted.

#pragma once

#include <cstdint>

#include "cleanup/leaf.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

// Whether that gives what DELETE would: no trigger on it, no rule, no archive, and the owner may.
bool may_remove_directly(const Leaf &leaf);

struct Removed {
  std::int64_t rows;
  bool complete;  // no expired row was left unread
};

// Both pass over rows that are locked, changed since the snapshot, or not expired any more.

// Deletes up to `most` expired rows along the index, from behind the cursor.
Removed remove_next(const Leaf &leaf, TimestampTz now, Cursor *cursor, int most);

// Deletes expired rows at these addresses.
std::int64_t remove_at(const Leaf &leaf, TimestampTz now, const ItemPointerData *tids, int count);

}  // namespace idem::cleanup
