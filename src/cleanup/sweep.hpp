// One table's part of a visit: its turns, batch by batch, each in a transaction of its own. For the
// worker only: nothing here may be called inside a transaction.

#pragma once

#include "cleanup/leaf.hpp"
#include "cleanup/rules.hpp"
#include "cleanup/visit.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

enum class Progress { under_way, finished, failed, busy };

struct Sweep {
  Rule rule;
  List *leaves;
  int leaf;         // index of the one under way
  Cursor cursor;    // in that one
  bool by_address;  // the leaf cannot be walked batch by batch: read a chunk of addresses first
  bool resumed;     // it began where a former one gave up, and goes round once
  std::int64_t rows;
  TimestampTz now;  // what has expired since then is left to the next visit
  Progress progress;
  bool met_locked_leaf;
  int refused_rows;
  int refused_before;      // in the leaves before
  bool failed;             // in some leaf
  ResumePoint gave_up_at;  // where rows refused to go, in the last such leaf
  int cap;                 // largest batch that may come to an end in time; 0: none is known
  Mishap mishap;           // of the last refused row, or of the failure
};

// Takes the next turn: up to 32 batches.
void take_turn(Visit &visit, Sweep &sweep);

// Writes down how the sweep ended, logs the beginning and the end of an episode of failures, and
// says when the table wants its next turn.
TimestampTz conclude(Visit &visit, Sweep &sweep);

}  // namespace idem::cleanup
