// The last id of a sequence, on the sequence's page: moving it on, and logging that so that no
// crash sets it back.

#pragma once

#include "ids/layout.hpp"
#include "server/prelude.hpp"

namespace idem::ids {

// The page, locked; take it for a moment only.
struct LastId {
  Relation relation;
  Buffer buffer;
  HeapTupleData tuple;
  FormData_pg_sequence_data *state;
};

// How far ahead of an id the log goes, in ids' own time. A crash skips the rest of it.
inline constexpr Millis kLoggedAhead = 128;

// Locks the page and finds the last id.
LastId lock_last_id(Relation relation);

// The last id that was given; 0 when there was none since the sequence was made or set back.
inline Id given(const LastId &last, Millis start) {
  return !last.state->is_called && last.state->last_value == start ? 0 : last.state->last_value;
}

// Makes `id` the last one.
void move_last_id(LastId &last, Id id);

// Lets go of the page. After a commit that waits for its log, the log of the last id is there, too.
void unlock_last_id(const LastId &last);

}  // namespace idem::ids
