// Judging what happens to a row, and saying no.

#pragma once

#include "machines/attachment.hpp"
#include "machines/machine.hpp"
#include "server/prelude.hpp"

namespace idem::machines {

// A value of the status column under an edition.
struct Position {
  StateIndex state;  // kUnknown for NULL and for what is no state
  const char *text;  // null: NULL
};

// What is asked for: one row going from one position to another.
struct Move {
  const Attachment *attachment;
  const Edition *edition;
  Relation relation;     // that the row is in
  TupleTableSlot *slot;  // the row as it is to be
  bool born;             // there is no former position
  Position from;
  Position to;
};

// Decides. NULL counts as a state to be born in where the attachment allows it: a row may stay in
// it or leave it for an initial state, and not come back.
Verdict judge(const Move &move);

// Raises ID001 to ID004 for a verdict that is neither `same` nor `allowed`.
[[noreturn]] void refuse(const Move &move, Verdict verdict);

// Where a state may go, for messages: "paid", "cancelled" (at most ten).
const char *ways_out(const Machine &machine, StateIndex from);

}  // namespace idem::machines
