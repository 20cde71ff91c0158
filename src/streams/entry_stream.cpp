// idem_stream_set and idem_stream_reset, and the trigger that tells every session of a change.

#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "server/statement.hpp"
#include "streams/limits.hpp"
#include "streams/table.hpp"

namespace {

using idem::server::errcode_of;
using idem::streams::StreamTables;

idem::server::Statement set_statement = {
    "INSERT INTO @idem_streams AS s (stream, mode, remember, retain, too_old, message_retain,"
    " refresh, member) VALUES ($1, COALESCE($2, 'strict'), COALESCE($3, 5), $4,"
    " COALESCE($5, 'duplicate'), $6, COALESCE($7, false), $8)"
    " ON CONFLICT (stream) DO UPDATE SET mode = COALESCE($2, s.mode),"
    " remember = COALESCE($3, s.remember), retain = COALESCE($4, s.retain),"
    " too_old = COALESCE($5, s.too_old), message_retain = COALESCE($6, s.message_retain),"
    " refresh = COALESCE($7, s.refresh), member = COALESCE($8, s.member)",
    8,
    {TEXTOID, TEXTOID, INT4OID, INTERVALOID, TEXTOID, INTERVALOID, BOOLOID, REGROLEOID}};

idem::server::Statement reset_statement = {
    "DELETE FROM @idem_streams WHERE stream OPERATOR(pg_catalog.=) $1", 1, {TEXTOID}};

void require_interval(FunctionCallInfo fcinfo, int number, const char *what) {
  if (!PG_ARGISNULL(number))
    (void)idem::server::deadline(GetCurrentTimestamp(), PG_GETARG_INTERVAL_P(number), what,
                                 idem::server::Infinite::allowed, false);
}

void require_remember(FunctionCallInfo fcinfo, int number) {
  if (PG_ARGISNULL(number)) return;
  const int32 remember = PG_GETARG_INT32(number);
  if (remember >= 0 && remember <= idem::streams::kMostRemembered) return;
  ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kBadArgument)),
                  errmsg("remember must be between 0 and %d, not %d",
                         idem::streams::kMostRemembered, remember),
                  errhint("It counts batches: pass as many as a producer sends before it waits for "
                          "an answer.")));
}

void require_role(FunctionCallInfo fcinfo, int number) {
  if (PG_ARGISNULL(number) || OidIsValid(PG_GETARG_OID(number))) return;
  ereport(ERROR,
          (errcode(errcode_of(idem::sqlstate::kBadArgument)), errmsg("member must be a role"),
           errhint("Call idem_stream_reset to open the stream to everybody.")));
}

void check_settings(FunctionCallInfo fcinfo) {
  idem::server::require_choice(fcinfo, 1, "mode", "strict", "monotonic");
  require_remember(fcinfo, 2);
  require_interval(fcinfo, 3, "retain");
  idem::server::require_choice(fcinfo, 4, "too_old", "duplicate", "refuse");
  require_interval(fcinfo, 5, "message_retain");
  require_role(fcinfo, 7);
}

const text *stream_argument(FunctionCallInfo fcinfo) {
  return idem::server::required_text(fcinfo, 0, "stream", idem::streams::kMaxStreamBytes);
}

}  // namespace

IDEM_FUNCTION(idem_stream_set) {
  idem::server::require_writable("idem_stream_set()");
  const text *stream = stream_argument(fcinfo);
  check_settings(fcinfo);
  const StreamTables tables = idem::streams::stream_tables(fcinfo, AccessShareLock);
  Datum values[8];
  char nulls[8];
  for (int i = 0; i < 8; i++) {
    values[i] = fcinfo->args[i].value;
    nulls[i] = fcinfo->args[i].isnull ? 'n' : ' ';
  }
  values[0] = PointerGetDatum(stream);
  (void)idem::server::execute(set_statement, tables.home, values, nulls);
  PG_RETURN_VOID();
}

IDEM_FUNCTION(idem_stream_reset) {
  idem::server::require_writable("idem_stream_reset()");
  const text *stream = stream_argument(fcinfo);
  const StreamTables tables = idem::streams::stream_tables(fcinfo, AccessShareLock);
  Datum values[] = {PointerGetDatum(stream)};
  return BoolGetDatum(idem::server::execute(reset_statement, tables.home, values, nullptr) == 1);
}

// Sessions cache settings; an edit by hand has to reach them as well.
IDEM_FUNCTION(idem_streams_changed) {
  if (!CALLED_AS_TRIGGER(fcinfo))
    ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                    errmsg("idem_streams_changed() must be called as a trigger")));
  const auto *trigger = reinterpret_cast<TriggerData *>(fcinfo->context);
  CacheInvalidateRelcache(trigger->tg_relation);
  return PointerGetDatum(nullptr);
}
