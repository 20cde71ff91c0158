// Reading the index on an expiry column: which rows are expired, in order, without SQL.

#pragma once

#include "server/prelude.hpp"

namespace idem::cleanup {

// Whether rows can expire by a column of this type: timestamptz, timestamp or date, or a domain
// over one of them; returns that one, or InvalidOid.
Oid expiry_type(Oid type);

// A valid B-tree index of `heap` (open and locked) with the column as its only key, that holds all
// rows in which it is not null; InvalidOid when there is none.
Oid expiry_index(Relation heap, AttrNumber column);

// The last index entry read. Zero-initialised, it stands before the first.
struct Cursor {
  bool started;
  int64 value;
  ItemPointerData tid;
};

struct Addresses {
  ItemPointerData *tids;
  int count;
  int room;
  bool complete;  // no expired row was left unread
};

// Appends the addresses of visible rows whose column is at most `limit`, in the order of the index,
// from behind `cursor`, which moves along, until `addresses` has no room. Reads with the active snapshot. The entries of rows
// that were deleted, but that an old snapshot keeps in the index, are passed over without a look at
// the table if they are not behind the cursor.
void collect(Relation heap, Oid index, Oid type, Datum limit, Cursor *cursor, Addresses *addresses);

// The smallest value of the column in a visible row, of those above `limit` or, with `expired`, of
// those up to it; false when there is none.
bool smallest(Relation heap, Oid index, Oid type, Datum limit, bool expired, Datum *value);

}  // namespace idem::cleanup
