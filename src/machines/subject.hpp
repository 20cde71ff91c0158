// The row that an event is about.

#pragma once

#include "machines/sitting.hpp"
#include "server/prelude.hpp"
#include "tables/row.hpp"

namespace idem::machines {

struct Subject {
  Relation relation;
  Sitting sitting;
  TupleTableSlot *slot;  // the row in the layout of `relation`
  ItemPointerData address;
  Oid table;  // the partition or child that it is in
  const Edition *edition;
  Position position;
};

// The relation itself, or the child by inheritance that the row with this key is in, opened and
// locked: its own attachment judges the row and names it. Raises P0002 for a parent without the
// row.
Relation table_of_row(Relation relation, AttrNumber status, Jsonb *key, LOCKMODE mode);

// Finds the row with the caller's rights and says where it stands; with `lock` it stays there until
// the transaction ends. Lives in the current memory context. Raises P0002 when there is no such
// row.
Subject find_subject(Relation relation, const Attachment *attachment,
                     const tables::KeyCondition &key, bool lock);

}  // namespace idem::machines
