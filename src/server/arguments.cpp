#include "server/arguments.hpp"

#include "server/compat.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace idem::server {

namespace {

// Far more than anyone means, and small enough that adding it to the present never overflows.
constexpr int32 kMaxMonths = 12 * 10000;
constexpr int32 kMaxDays = 366 * 10000;
constexpr int64 kMaxMicros = static_cast<int64>(kMaxDays) * USECS_PER_DAY;

const char *shown(const Interval *interval) {
  return DatumGetCString(DirectFunctionCall1(interval_out, IntervalPGetDatum(interval)));
}

[[noreturn]] void refuse_interval(const Interval *interval, const char *what, const char *why,
                                  const char *hint) {
  ereport(ERROR, (errcode(errcode_of(sqlstate::kBadArgument)), errmsg("%s %s", what, why),
                  errdetail("The value is %s.", shown(interval)), errhint("%s", hint)));
  pg_unreachable();
}

bool too_long(const Interval *interval) {
  return interval->month > kMaxMonths || interval->month < -kMaxMonths ||
         interval->day > kMaxDays || interval->day < -kMaxDays || interval->time > kMaxMicros ||
         interval->time < -kMaxMicros;
}

bool negative(const Interval *interval) {
  Interval zero = {};
  return DatumGetBool(
      DirectFunctionCall2(interval_lt, IntervalPGetDatum(interval), IntervalPGetDatum(&zero)));
}

[[noreturn]] void refuse_sign(const Interval *interval, const char *what, bool allow_zero) {
  refuse_interval(interval, what, allow_zero ? "must not be negative" : "must be positive",
                  allow_zero ? "Pass '0' for none, or for example '5 seconds'."
                             : "Pass for example '5 minutes'.");
}

}  // namespace

const text *limited_text(FunctionCallInfo fcinfo, int number, const char *what, std::size_t limit) {
  // The size is checked before detoasting: a refused value of a gigabyte costs nothing.
  if (PG_ARGISNULL(number)) return nullptr;
  const Size size = toast_raw_datum_size(PG_GETARG_DATUM(number)) - VARHDRSZ;
  if (size == 0) {
    ereport(ERROR, (errcode(errcode_of(sqlstate::kBadArgument)),
                    errmsg("%s must not be empty", what), errhint("Pass 1 to %zu bytes.", limit)));
  }
  if (size > limit) {
    ereport(ERROR, (errcode(errcode_of(sqlstate::kBadArgument)), errmsg("%s is too long", what),
                    errdetail("It has %zu bytes; the limit is %zu.", size, limit),
                    errhint("Use a shorter value, or a digest of the long one.")));
  }
  return PG_GETARG_TEXT_PP(number);
}

const text *required_text(FunctionCallInfo fcinfo, int number, const char *what,
                          std::size_t limit) {
  if (PG_ARGISNULL(number)) {
    ereport(ERROR, (errcode(errcode_of(sqlstate::kBadArgument)),
                    errmsg("%s must not be null", what), errhint("Pass 1 to %zu bytes.", limit)));
  }
  return limited_text(fcinfo, number, what, limit);
}

void require_choice(FunctionCallInfo fcinfo, int number, const char *what, const char *first,
                    const char *second) {
  if (PG_ARGISNULL(number)) return;
  const char *word = text_to_cstring(PG_GETARG_TEXT_PP(number));
  if (strcmp(word, first) != 0 && strcmp(word, second) != 0)
    ereport(ERROR, (errcode(errcode_of(sqlstate::kBadArgument)),
                    errmsg("%s must be \"%s\" or \"%s\", not \"%s\"", what, first, second, word),
                    errhint("Pass one of the two words.")));
}

TimestampTz deadline(TimestampTz now, const Interval *interval, const char *what, Infinite infinite,
                     bool allow_zero) {
  const IntervalRange range = interval_range(interval);
  if (range == IntervalRange::plus_infinity && infinite == Infinite::allowed) return DT_NOEND;
  if (range == IntervalRange::plus_infinity)
    refuse_interval(interval, what, "must be finite",
                    "An owner that dies must be replaced one day; pass for example '5 minutes'.");
  if (negative(interval)) refuse_sign(interval, what, allow_zero);
  if (too_long(interval))
    refuse_interval(interval, what, "is too long", "Pass at most 10000 years.");

  const TimestampTz until = DatumGetTimestampTz(DirectFunctionCall2(
      timestamptz_pl_interval, TimestampTzGetDatum(now), IntervalPGetDatum(interval)));
  // Months are longer than the 30 days that the comparison takes them for, so look at the result as
  // well.
  if (until < now || (until == now && !allow_zero)) refuse_sign(interval, what, allow_zero);
  return until;
}

void require_writable(const char *function) {
  PreventCommandIfReadOnly(function);
  PreventCommandIfParallelMode(function);
}

}  // namespace idem::server
