// Judging a change of a row in an attached table.

#pragma once

#include "machines/judge.hpp"
#include "machines/sitting.hpp"
#include "server/prelude.hpp"

namespace idem::machines {

// A row as it was, on whichever partition.
struct Former {
  Oid table;
  ItemPointer address;
  HeapTuple tuple;
  TupleTableSlot *slot;
};

// A row as it is to be.
struct Row {
  Relation relation;
  HeapTuple tuple;
  TupleTableSlot *slot;
  CommandId command;  // that wrote it
};

struct Judged {
  bool changed;  // in the column with the status
  Move move;     // under the machine that the row has from now on
};

// Raises ID001 to ID006 for a change that is refused, whatever guards raise among it.
Judged judge_change(Sitting &sitting, const Former &former, const Row &row);

// Raises the error of a verdict that is one.
void require(const Move &move, Verdict verdict);

// Has every machine of the table judge an update that has not been made yet, as its own trigger
// will: for others who are about to refuse the update, and come second.
void judge_update(const TriggerData &trigger);

}  // namespace idem::machines
