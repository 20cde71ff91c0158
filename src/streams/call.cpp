#include "streams/call.hpp"

#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "streams/limits.hpp"
#include "streams/progress.hpp"

namespace idem::streams {

namespace {

void require_given(FunctionCallInfo fcinfo, int number, const char *what) {
  if (!PG_ARGISNULL(number)) return;
  ereport(ERROR,
          (errcode(server::errcode_of(sqlstate::kBadArgument)), errmsg("%s must not be null", what),
           errhint("Call idem_producer, which returns it.")));
}

}  // namespace

const text *required_stream(FunctionCallInfo fcinfo, int number) {
  return server::required_text(fcinfo, number, "stream", kMaxStreamBytes);
}

std::int64_t required_number(FunctionCallInfo fcinfo, int number, const char *what) {
  if (PG_ARGISNULL(number))
    ereport(ERROR, (errcode(server::errcode_of(sqlstate::kBadArgument)),
                    errmsg("%s must not be null", what),
                    errhint("A producer numbers its messages, from 1 on.")));
  const std::int64_t value = PG_GETARG_INT64(number);
  if (value < 1)
    ereport(ERROR, (errcode(server::errcode_of(sqlstate::kBadArgument)),
                    errmsg("%s must be at least 1, not %lld", what, static_cast<long long>(value)),
                    errhint("A producer numbers its messages, from 1 on.")));
  return value;
}

NullableDatum given_result(FunctionCallInfo fcinfo, int number) {
  if (PG_ARGISNULL(number)) return {0, true};
  // Checked before detoasting: a refused value of a gigabyte costs nothing.
  const Size size = toast_raw_datum_size(PG_GETARG_DATUM(number)) - VARHDRSZ;
  if (size > kMaxResultBytes)
    ereport(ERROR,
            (errcode(server::errcode_of(sqlstate::kTooLarge)), errmsg("result is too large"),
             errdetail("It has %zu bytes as stored; the limit is %zu.", size, kMaxResultBytes),
             errhint("It is written again with each batch that comes after. Store a reference or "
                     "a digest instead.")));
  return {PointerGetDatum(PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(number))), false};
}

bool prolong(ProducerState &producer, const Call &call) {
  const Micros before = producer.expires_at;
  producer.expires_at = keep_until(before, call.settings.retain, call.now);
  return producer.expires_at != before;
}

Call read_call(FunctionCallInfo fcinfo, const char *function) {
  server::require_writable(function);
  Call call;
  call.stream = required_stream(fcinfo, 0);
  require_given(fcinfo, 1, "producer_id");
  require_given(fcinfo, 2, "epoch");
  call.producer_id = PG_GETARG_INT64(1);
  call.epoch = PG_GETARG_INT32(2);
  write_progress();
  call.tables = stream_tables(fcinfo, RowExclusiveLock);
  call.settings = stream_settings(call.tables, call.stream);
  call.now = GetCurrentTimestamp();
  return call;
}

}  // namespace idem::streams
