// idem_uuid7, idem_uuid7_floor and idem_uuid_time: UUIDs that carry a time.

#include <algorithm>
#include <cstring>

#include "ids/clock.hpp"
#include "ids/random_pool.hpp"
#include "ids/uuid_bits.hpp"
#include "server/compat.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace {

using idem::ids::Millis;
using idem::ids::Nanos;
using idem::ids::UuidBytes;

constexpr Nanos kNanosPerMicro = 1000;
constexpr Nanos kNanosPerMilli = 1000000;

Datum uuid_datum(const UuidBytes &bytes) {
  auto *uuid = static_cast<pg_uuid_t *>(palloc(sizeof(pg_uuid_t)));
  static_assert(sizeof(uuid->data) == sizeof(bytes));
  memcpy(uuid->data, bytes.data(), bytes.size());
  return UUIDPGetDatum(uuid);
}

[[noreturn]] void refuse_range(const char *what) {
  ereport(ERROR, (errcode(idem::server::errcode_of(idem::sqlstate::kBadArgument)),
                  errmsg("%s is outside the range of UUIDs", what),
                  errdetail("UUIDs of version 7 count milliseconds from 1970 to 10889.")));
  pg_unreachable();
}

void require_range(Millis time, const char *what) {
  if (time < 0 || time > idem::ids::kLastUuidMillis) refuse_range(what);
}

// A time since 1970 that UUIDs can hold, which nanoseconds alone could not.
struct Instant {
  Millis time;
  Nanos below;
};

// Whether a timestamp holds every time on the way when the server adds months, days and the rest to
// it, one after the other. It raises an error of its own otherwise. Years need not be exact: the
// limits are well within what a timestamp holds, and far from what UUIDs can hold.
bool can_shift(TimestampTz at, const Interval *shift) {
  constexpr double kFirstYear = -4700;
  constexpr double kLastYear = 294000;
  constexpr double kMicrosPerYear = DAYS_PER_YEAR * USECS_PER_DAY;
  const double after_months =
      2000 + at / kMicrosPerYear + static_cast<double>(shift->month) / MONTHS_PER_YEAR;
  const double after_days = after_months + shift->day / DAYS_PER_YEAR;
  const double after_all = after_days + shift->time / kMicrosPerYear;
  const auto [least, greatest] = std::minmax({after_months, after_days, after_all});
  return least > kFirstYear && greatest < kLastYear;
}

// The time as the interval moves it, to the nanosecond that it had.
Instant shifted(Nanos now, const Interval *shift) {
  if (idem::server::interval_range(shift) != idem::server::IntervalRange::finite)
    ereport(ERROR, (errcode(idem::server::errcode_of(idem::sqlstate::kBadArgument)),
                    errmsg("shift must be finite"), errhint("Pass for example '-1 day'.")));
  const TimestampTz at = now / kNanosPerMicro - idem::ids::kMicrosTo2000;
  if (!can_shift(at, shift)) refuse_range("the shifted time");
  const TimestampTz moved = DatumGetTimestampTz(DirectFunctionCall2(
      timestamptz_pl_interval, TimestampTzGetDatum(at), IntervalPGetDatum(shift)));
  const Millis time = idem::ids::millis_of(moved);
  require_range(time, "the shifted time");
  const Nanos micros = moved - idem::ids::timestamp_of(time);
  return {time, micros * kNanosPerMicro + now % kNanosPerMicro};
}

}  // namespace

IDEM_FUNCTION(idem_uuid7) {
  const Nanos now = idem::ids::ascending_nanos();
  Instant at = {now / kNanosPerMilli, now % kNanosPerMilli};
  if (!PG_ARGISNULL(0)) at = shifted(now, PG_GETARG_INTERVAL_P(0));
  return uuid_datum(idem::ids::make_uuid7(at.time, at.below, idem::ids::random_bits()));
}

IDEM_FUNCTION(idem_uuid7_floor) {
  const Millis time = idem::ids::millis_of(idem::ids::finite_time(fcinfo, 0, "at"));
  require_range(time, "at");
  return uuid_datum(idem::ids::uuid7_floor(time));
}

IDEM_FUNCTION(idem_uuid_time) {
  UuidBytes bytes;
  memcpy(bytes.data(), PG_GETARG_UUID_P(0)->data, bytes.size());
  const auto time = idem::ids::time_of(bytes);
  if (!time) PG_RETURN_NULL();
  PG_RETURN_TIMESTAMPTZ(*time - idem::ids::kMicrosTo2000);
}
