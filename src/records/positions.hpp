// Where in the table this session last met a record, so that the next look at the same key, such as
// that of idem_finish after idem_begin, need not descend the index. Hints only: whoever uses one
// checks that the row there is visible and has the key.

#pragma once

#include "records/record.hpp"
#include "server/prelude.hpp"

namespace idem::records {

// `tid` is the root of the row's HOT chain, which is what an index entry points to.
void remember_position(Oid table, const Identity &id, const ItemPointerData &tid);

// False when nothing is known.
bool recall_position(Oid table, const Identity &id, ItemPointer tid);

}  // namespace idem::records
