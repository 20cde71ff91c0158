// Where in the table a record was met last, so that the next look at the same key need not descend
// the index: the finish after a begin, or a duplicate on any connection. Hints only: whoever uses
// one checks that the row there is visible and has the key, so a wrong one costs a page visit and
// nothing else. That is why the places are shared without a lock.

#pragma once

#include "records/record.hpp"
#include "server/prelude.hpp"

namespace idem::records {

// Reserves shared memory, so that all sessions have their positions in common. Call it from
// _PG_init while the library is being preloaded; otherwise each session keeps a few of its own.
void reserve_shared_positions();

// `tid` is the root of the row's HOT chain, which is what an index entry points to.
void remember_position(Oid table, const Identity &id, const ItemPointerData &tid);

// False when nothing is known.
bool recall_position(Oid table, const Identity &id, ItemPointer tid);

}  // namespace idem::records
