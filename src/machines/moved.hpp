// Rows on their way from one partition to another. To the triggers of rows, such an update is a row
// deleted here and another one born there; but it is a change of one row.

#pragma once

#include "machines/attachment.hpp"
#include "server/prelude.hpp"

namespace idem::machines {

// What a row was before it moved.
struct FormerRow {
  Oid table;
  ItemPointerData address;
  HeapTuple tuple;
  TupleDesc descriptor;
};

// Whether a row that was deleted goes on in another partition.
bool has_moved(HeapTuple deleted);

// Remembers such a row, until the attachment's trigger asks for it or the transaction ends.
void remember_moved(const Attachment &attachment, Relation relation, HeapTuple deleted);

// What a row that was inserted into a partition was before, or null: it is new. The answer is given
// once, and holds until the next row is remembered.
const FormerRow *take_moved(const Attachment &attachment, HeapTuple inserted);

}  // namespace idem::machines
