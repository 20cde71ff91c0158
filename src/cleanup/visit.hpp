// One visit of a worker to its database: how long it lasts, and how its transactions run. For the
// worker only: nothing here may be called inside a transaction.

#pragma once

#include <cstdint>

#include "cleanup/premises.hpp"
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
  bool timed_out;             // the batch took too long
  Problem problem;            // message and detail
  char context[kErrorBytes];  // where it was raised; may be empty
};

// Runs call(argument) in a transaction of its own, with a snapshot. False with the transaction
// rolled back and the error in `mishap` when it raised one.
bool transact(void (*call)(void *), void *argument, Mishap *mishap);

template <typename Call>
bool transact(Call call, Mishap *mishap) {
  return transact([](void *argument) { (*static_cast<Call *>(argument))(); }, &call, mishap);
}

// The same for what needs the extension: calls call(premises) once the visit has entered, and not
// at all when it may not; visit.entry says which.
template <typename Call>
bool transact(Visit &visit, Call call, Mishap *mishap) {
  return transact(
      [&visit, call] {
        Premises premises;
        visit.entry = enter(&premises);
        if (visit.entry == Entry::open) call(premises);
      },
      mishap);
}

// Sleeps off what a batch that began at `since` deleted faster than the rate. A batch holds no more
// than a second's worth, unless the rate was lowered since; either way DROP DATABASE and the like
// do not wait longer than that for us to look up.
void rest(Visit &visit, std::int64_t rows, TimestampTz since);

}  // namespace idem::cleanup
