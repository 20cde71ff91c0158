// One table's part of a visit: its turns, batch by batch, each in a transaction of its own. For the
// worker only: nothing here may be called inside a transaction.

#pragma once

#include "cleanup/leaf.hpp"
#include "cleanup/rules.hpp"
#include "cleanup/schedule.hpp"
#include "cleanup/shared.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

// How the transactions of a visit learn that it is over, and what it has done so far.
struct Visit {
  TimestampTz started_at;
  TimestampTz ends_at;
  bool requested;  // tables that failed before have their turn as well
  Entry entry;     // of the last transaction; anything but open ends the visit
  MemoryContext context;
};

// Whether there is no time, no permission or no reason to go on; handles signals and new settings
// on the way.
bool over(Visit &visit);

// An error that ended a transaction.
struct Mishap {
  int sqlstate;
  Problem problem;
};

// Runs call(argument) in a transaction of its own, with a snapshot. False with the transaction
// rolled back and the error in `mishap` when it raised one.
bool transact(void (*call)(void *), void *argument, Mishap *mishap);

template <typename Call>
bool transact(Call call, Mishap *mishap) {
  return transact([](void *argument) { (*static_cast<Call *>(argument))(); }, &call, mishap);
}

enum class Progress { under_way, finished, failed, busy };

struct Sweep {
  Rule rule;
  List *leaves;
  int leaf;       // index of the one under way
  Cursor cursor;  // in that one
  bool resumed;   // it began where a former one gave up, and goes round once
  std::int64_t rows;
  TimestampTz now;  // what has expired since then is left to the next visit
  Progress progress;
  bool met_locked_leaf;
  int refused_rows;
  Mishap mishap;  // of the last refused row, or of the failure
};

// Takes the next turn: a chunk of up to 32 batches.
void take_turn(Visit &visit, Sweep &sweep);

// Writes down how the sweep ended, logs the beginning and the end of an episode of failures, and
// says when the table wants its next turn.
TimestampTz conclude(Visit &visit, Sweep &sweep);

}  // namespace idem::cleanup
