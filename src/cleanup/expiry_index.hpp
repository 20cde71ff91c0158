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

// Calls row(slot, argument) for visible rows whose column is at most `limit`, in the order of the
// index, from behind `cursor`, which moves along; for `most` rows at most. Returns whether no such
// row is left. Reads with the active snapshot. Entries that are not behind the cursor are passed
// over without a look at the table: rows that were deleted, but that an old snapshot keeps in the
// index, cost nothing again.
bool walk(Relation heap, Oid index, Oid type, Datum limit, Cursor *cursor, int most,
          void (*row)(TupleTableSlot *, void *), void *argument);

// Whether a value of the column is at most `limit`.
bool is_up_to(Oid type, Datum value, Datum limit);

// The smallest value of the column in a visible row, of those above `limit` or, with `expired`, of
// those up to it; false when there is none.
bool smallest(Relation heap, Oid index, Oid type, Datum limit, bool expired, Datum *value);

}  // namespace idem::cleanup
