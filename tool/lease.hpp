// What a lease means for the one who holds it: when to renew, and when to have stopped.

#pragma once

#include "tool/clock.hpp"

namespace idem::tool {

// By our clock, counted from before the request was sent that was answered with `remaining`. The
// server counts from later, so the lease is over for us before it is over there.
struct Lease {
  TimePoint asked = {};
  Duration remaining = Duration(0);

  TimePoint end() const { return remaining == Duration::max() ? kNever : asked + remaining; }
};

// A third of the lease after it was granted: two more attempts can fail.
TimePoint renew_at(const Lease &lease);

// How long to wait before an attempt to renew that failed is repeated.
Duration retry_pause(const Lease &lease);

// When the command is told to end, and when it has to be dead, if no renewal comes.
struct Deadline {
  TimePoint terminate = kNever;
  TimePoint kill = kNever;
};

// The kill leaves a margin before the end of the lease for whatever is slow in killing. The time
// between the two is what the user wants to give the command, but not more than a quarter of the
// lease, or the command would have to stop long before it must.
Deadline deadline_of(const Lease &lease, Duration kill_after);

}  // namespace idem::tool
