#include "records/limits.hpp"
#include "records/request.hpp"
#include "records/settlement.hpp"
#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace {

using idem::records::Outcome;
using idem::records::Presented;
using idem::records::RecordsTable;
using idem::records::ScopeSettings;
using idem::records::Status;

NullableDatum argument(FunctionCallInfo fcinfo, int number) {
  return fcinfo->args[number];
}

Presented presented(FunctionCallInfo fcinfo, int key, int scope, int token) {
  return {idem::records::read_identity(fcinfo, key, scope), argument(fcinfo, token)};
}

// idem_finish and idem_fail share everything but the status.
Datum settle(FunctionCallInfo fcinfo, const char *function, Status status, const char *now,
             const char *before) {
  idem::server::require_writable(function);
  const Presented claim = presented(fcinfo, 0, 2, 3);
  const RecordsTable table = idem::records::records_table(fcinfo, RowExclusiveLock);
  const ScopeSettings settings = idem::records::open_scope_settings(table, claim.id.scope);
  const Outcome outcome = {status, argument(fcinfo, 4), argument(fcinfo, 1), argument(fcinfo, 5)};
  const bool stored = idem::records::settle_claim(table, claim, settings, outcome);
  return CStringGetTextDatum(stored ? now : before);
}

}  // namespace

IDEM_FUNCTION(idem_finish) {
  return settle(fcinfo, "idem_finish()", Status::finished, "finished", "already_finished");
}

IDEM_FUNCTION(idem_fail) {
  return settle(fcinfo, "idem_fail()", Status::failed, "failed", "already_failed");
}

IDEM_FUNCTION(idem_release) {
  idem::server::require_writable("idem_release()");
  const Presented claim = presented(fcinfo, 0, 1, 2);
  const RecordsTable table = idem::records::records_table(fcinfo, RowExclusiveLock);
  (void)idem::records::open_scope_settings(table, claim.id.scope);
  return BoolGetDatum(idem::records::release_claim(table, claim));
}

IDEM_FUNCTION(idem_extend) {
  idem::server::require_writable("idem_extend()");
  const Presented claim = presented(fcinfo, 0, 1, 2);
  const RecordsTable table = idem::records::records_table(fcinfo, RowExclusiveLock);
  const ScopeSettings settings = idem::records::open_scope_settings(table, claim.id.scope);
  const Interval lease =
      idem::records::lease_interval(settings, idem::records::read_interval(fcinfo, 3));
  return TimestampTzGetDatum(idem::records::extend_claim(table, claim, lease));
}

IDEM_FUNCTION(idem_checkpoint) {
  idem::server::require_writable("idem_checkpoint()");
  const Presented claim = presented(fcinfo, 0, 3, 4);
  const text *name = idem::server::required_text(fcinfo, 1, "checkpoint name",
                                                 idem::records::kMaxCheckpointNameBytes);
  const RecordsTable table = idem::records::records_table(fcinfo, RowExclusiveLock);
  const ScopeSettings settings = idem::records::open_scope_settings(table, claim.id.scope);
  idem::records::checkpoint_claim(table, claim, settings, PointerGetDatum(name),
                                  argument(fcinfo, 2));
  PG_RETURN_VOID();
}
