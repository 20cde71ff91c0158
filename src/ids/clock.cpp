#include "ids/clock.hpp"

#include <ctime>

#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace idem::ids {

namespace {
constexpr Nanos kNanosPerSecond = 1000000000;
}

Nanos ascending_nanos() {
  static Nanos previous = 0;
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const Nanos nanos = static_cast<Nanos>(now.tv_sec) * kNanosPerSecond + now.tv_nsec;
  previous = nanos >= previous + kUuidStep ? nanos : previous + kUuidStep;
  return previous;
}

TimestampTz finite_time(FunctionCallInfo fcinfo, int number, const char *what) {
  const TimestampTz at = PG_GETARG_TIMESTAMPTZ(number);
  if (TIMESTAMP_NOT_FINITE(at))
    ereport(ERROR, (errcode(server::errcode_of(sqlstate::kBadArgument)),
                    errmsg("%s must be finite", what), errhint("Pass a time, such as now().")));
  return at;
}

}  // namespace idem::ids
