// What time it is, for ids. Read for each call: the transaction's time would give all its ids one.

#pragma once

#include "ids/layout.hpp"
#include "ids/uuid_bits.hpp"
#include "server/prelude.hpp"

namespace idem::ids {

inline constexpr int64 kMicrosPerMilli = 1000;
inline constexpr int64 kMicrosTo2000 =
    (static_cast<int64>(POSTGRES_EPOCH_JDATE) - UNIX_EPOCH_JDATE) * USECS_PER_DAY;

// Milliseconds since 1970, towards the past. Of any time: microseconds since 1970 could overflow.
inline Millis millis_of(TimestampTz at) {
  const Millis since_2000 = at / kMicrosPerMilli - (at % kMicrosPerMilli < 0 ? 1 : 0);
  return since_2000 + kMicrosTo2000 / kMicrosPerMilli;
}

inline TimestampTz timestamp_of(Millis time) {
  return time * kMicrosPerMilli - kMicrosTo2000;
}

// What timestamp_of takes at most.
inline constexpr Millis kLastTime =
    END_TIMESTAMP / kMicrosPerMilli + kMicrosTo2000 / kMicrosPerMilli - 1;

inline Millis now_millis() {
  return millis_of(GetCurrentTimestamp());
}

// Nanoseconds since 1970. Each call in a session gives a later time than the one before, by a step
// that tells UUIDs apart.
Nanos ascending_nanos();

// A time argument that must be finite; `what` names it in errors.
TimestampTz finite_time(FunctionCallInfo fcinfo, int number, const char *what);

}  // namespace idem::ids
