// idem_scope_set and idem_scope_reset, and the trigger that tells every session of a change.

#include "records/archive.hpp"
#include "records/decision.hpp"
#include "records/limits.hpp"
#include "records/request.hpp"
#include "records/table.hpp"
#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "server/statement.hpp"

namespace {

using idem::records::RecordsTable;
using idem::server::errcode_of;

idem::server::Statement set_statement = {
    "INSERT INTO @idem_scopes AS s (scope, retain, lease, max_attempts, on_abandoned,"
    " max_result_bytes, on_expiry, require_fingerprint, member)"
    " VALUES ($1, $2, $3, $4, COALESCE($5, 'retry'), $6, COALESCE($7, 'delete'),"
    " COALESCE($8, false), $9) ON CONFLICT (scope) DO UPDATE SET"
    " retain = COALESCE($2, s.retain), lease = COALESCE($3, s.lease),"
    " max_attempts = COALESCE($4, s.max_attempts),"
    " on_abandoned = COALESCE($5, s.on_abandoned),"
    " max_result_bytes = COALESCE($6, s.max_result_bytes),"
    " on_expiry = COALESCE($7, s.on_expiry),"
    " require_fingerprint = COALESCE($8, s.require_fingerprint),"
    " member = COALESCE($9, s.member)",
    9,
    {TEXTOID, INTERVALOID, INTERVALOID, INT4OID, TEXTOID, INT4OID, TEXTOID, BOOLOID, REGROLEOID}};

idem::server::Statement reset_statement = {
    "DELETE FROM @idem_scopes WHERE scope OPERATOR(pg_catalog.=) $1", 1, {TEXTOID}};

void require_interval(FunctionCallInfo fcinfo, int number, const char *what,
                      idem::server::Infinite infinite) {
  const Interval *interval = idem::records::read_interval(fcinfo, number);
  if (interval != nullptr)
    (void)idem::server::deadline(GetCurrentTimestamp(), interval, what, infinite, false);
}

void require_at_least(FunctionCallInfo fcinfo, int number, const char *what, int least) {
  if (PG_ARGISNULL(number) || PG_GETARG_INT32(number) >= least) return;
  ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kBadArgument)),
                  errmsg("%s must be at least %d, not %d", what, least, PG_GETARG_INT32(number)),
                  errhint("Pass %d or more, or leave it out for no change.", least)));
}

void require_role(FunctionCallInfo fcinfo, int number) {
  if (PG_ARGISNULL(number) || OidIsValid(PG_GETARG_OID(number))) return;
  ereport(ERROR,
          (errcode(errcode_of(idem::sqlstate::kBadArgument)), errmsg("member must be a role"),
           errhint("Call idem_scope_reset to open the scope to everybody.")));
}

void check_settings(FunctionCallInfo fcinfo) {
  require_role(fcinfo, 8);
  require_interval(fcinfo, 1, "retain", idem::server::Infinite::allowed);
  require_interval(fcinfo, 2, "lease", idem::server::Infinite::refused);
  require_at_least(fcinfo, 3, "max_attempts", 1);
  idem::server::require_choice(fcinfo, 4, "on_abandoned", "retry", "hold");
  require_at_least(fcinfo, 5, "max_result_bytes", 0);
  idem::server::require_choice(fcinfo, 6, "on_expiry", "delete", "archive");
}

}  // namespace

IDEM_FUNCTION(idem_scope_set) {
  idem::server::require_writable("idem_scope_set()");
  const text *scope =
      idem::server::required_text(fcinfo, 0, "scope", idem::records::kMaxScopeBytes);
  check_settings(fcinfo);
  const RecordsTable table = idem::records::records_table(fcinfo, AccessShareLock);
  Datum values[9];
  char nulls[9];
  for (int i = 0; i < 9; i++) {
    values[i] = fcinfo->args[i].value;
    nulls[i] = fcinfo->args[i].isnull ? 'n' : ' ';
  }
  values[0] = PointerGetDatum(scope);
  (void)idem::server::execute(set_statement, table.home, values, nulls);
  if (idem::records::archives_records(table.home))
    idem::server::provide_default_partition(idem::records::kArchive, table.home);
  PG_RETURN_VOID();
}

IDEM_FUNCTION(idem_scope_reset) {
  idem::server::require_writable("idem_scope_reset()");
  const text *scope =
      idem::server::required_text(fcinfo, 0, "scope", idem::records::kMaxScopeBytes);
  const RecordsTable table = idem::records::records_table(fcinfo, AccessShareLock);
  Datum values[] = {PointerGetDatum(scope)};
  return BoolGetDatum(idem::server::execute(reset_statement, table.home, values, nullptr) == 1);
}

// Sessions cache scopes; an edit by hand has to reach them as well.
IDEM_FUNCTION(idem_scopes_changed) {
  if (!CALLED_AS_TRIGGER(fcinfo))
    ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                    errmsg("idem_scopes_changed() must be called as a trigger")));
  const auto *trigger = reinterpret_cast<TriggerData *>(fcinfo->context);
  CacheInvalidateRelcache(trigger->tg_relation);
  return PointerGetDatum(nullptr);
}
