// A relation with rows that expire by a rule, opened for one transaction.

#pragma once

#include <cstdint>

#include "cleanup/expiry_index.hpp"
#include "cleanup/rules.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

struct Leaf {
  const Rule *rule;
  Oid relation;
  Oid owner;
  Oid index;
  AttrNumber number;   // of the column
  Oid type;            // of the column: timestamptz, timestamp or date
  const char *name;    // qualified and quoted
  const char *column;  // as in the catalog
};

enum class Opening { open, busy, gone };

// `look` and `expire_at_once` do not wait for a lock, `expire` does.
enum class LeafUse { look, expire, expire_at_once };

// Opens the relation and locks it, for reading or for deleting rows, until the transaction ends.
// `busy` means that it is locked against us, `gone` that it was dropped, or detached from the table
// that the rule is about. Raises 55000 or 0A000 when
// rows of it cannot expire (any more), with the remedy.
Opening open_leaf(const Rule &rule, Oid relation, LeafUse use, Leaf *leaf);

// Whether open_leaf would raise none of these now.
bool can_expire(const Rule &rule, Oid relation);

struct Addresses {
  ItemPointerData *tids;
  int count;
  int room;
  bool complete;  // no expired row was left unread
};

// Appends the addresses of expired rows from behind the cursor, until `addresses` has no room.
void find_expired(const Leaf &leaf, TimestampTz now, Cursor *cursor, Addresses *addresses);

// How long the oldest expired row has been so, or when the next one will be; false when there is
// none.
bool oldest_expired(const Leaf &leaf, TimestampTz now, TimestampTz *expired_at);
bool next_expiry(const Leaf &leaf, TimestampTz now, TimestampTz *expires_at);

// What the planner believes to be the number of expired rows.
std::int64_t estimate_backlog(const Leaf &leaf, TimestampTz now);

}  // namespace idem::cleanup
