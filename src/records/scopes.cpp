#include "records/scopes.hpp"

#include "records/limits.hpp"
#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/name_cache.hpp"
#include "server/prelude.hpp"
#include "server/settings.hpp"
#include "server/statement.hpp"

namespace idem::records {

namespace {

// What the row says; -1 and false stand for a column left NULL.
struct CachedScope {
  ScopeSettings settings;
  bool has_max_result_bytes;
};

server::NameCache<CachedScope, kMaxScopeBytes> cache("pg_idem scopes");

server::Statement scope_statement = {
    "SELECT retain, lease, max_attempts, on_abandoned OPERATOR(pg_catalog.=) 'hold',"
    " max_result_bytes, require_fingerprint, member::pg_catalog.oid,"
    " on_expiry OPERATOR(pg_catalog.=) 'archive' FROM @idem_scopes"
    " WHERE scope OPERATOR(pg_catalog.=) $1",
    1,
    {TEXTOID}};

void read_interval(int column, bool *present, Interval *interval) {
  bool isnull;
  const Datum value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, &isnull);
  *present = !isnull;
  if (!isnull) *interval = *DatumGetIntervalP(value);
}

Datum read_column(int column, bool *present) {
  bool isnull;
  const Datum value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, &isnull);
  *present = !isnull;
  return isnull ? Datum{0} : value;
}

void read_row(CachedScope &scope) {
  ScopeSettings &settings = scope.settings;
  bool present;
  read_interval(1, &settings.has_retain, &settings.retain);
  read_interval(2, &settings.has_lease, &settings.lease);
  const Datum attempts = read_column(3, &present);
  if (present) settings.policy.max_attempts = DatumGetInt32(attempts);
  settings.policy.hold_abandoned = DatumGetBool(read_column(4, &present));
  settings.max_result_bytes = DatumGetInt32(read_column(5, &scope.has_max_result_bytes));
  settings.require_fingerprint = DatumGetBool(read_column(6, &present));
  settings.member = DatumGetObjectId(read_column(7, &present));
  settings.archives = DatumGetBool(read_column(8, &present));
}

// The transaction's own snapshot may be older than an invalidation that has been processed already;
// an entry read through it would stay wrong for the rest of the session.
void read_scope(const RecordsTable &table, const text *scope, CachedScope &into) {
  Datum values[] = {PointerGetDatum(scope)};
  SPI_connect();
  PushActiveSnapshot(GetLatestSnapshot());
  if (server::run(scope_statement, table.home, values, nullptr, true, 1) == 1) read_row(into);
  PopActiveSnapshot();
  SPI_finish();
}

CachedScope look_up(const RecordsTable &table, const text *scope) {
  return cache.look_up(table.scopes, scope,
                       [&](CachedScope &into) { read_scope(table, scope, into); });
}

void require_member(Oid member, const text *scope) {
  if (!OidIsValid(member) || has_privs_of_role(GetUserId(), member)) return;
  const char *role = GetUserNameFromId(member, true);
  ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                  errmsg("permission denied for scope \"%s\"", text_to_cstring(scope)),
                  role != nullptr ? errdetail("Only members of role \"%s\" may use it.", role)
                                  : errdetail("The role whose members may use it was dropped."),
                  errhint("Have the role granted, or the scope's member changed with "
                          "idem_scope_set.")));
}

void require_not_reserved(const RecordsTable &table, const text *scope) {
  constexpr std::string_view kReserved = "idem.";
  const std::string_view name = server::view_of(scope);
  if (name.substr(0, kReserved.size()) != kReserved || superuser() ||
      has_privs_of_role(GetUserId(), table.home.owner))
    return;
  ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                  errmsg("scope \"%s\" is reserved", text_to_cstring(scope)),
                  errhint("Choose a scope whose name does not begin with \"idem.\".")));
}

Interval seconds(int count) {
  Interval interval = {};
  interval.time = static_cast<int64>(count) * USECS_PER_SEC;
  return interval;
}

}  // namespace

ScopeSettings scope_settings(const RecordsTable &table, const text *scope) {
  const ScopeSettings settings = own_scope_settings(table, scope);
  require_member(settings.member, scope);
  return settings;
}

ScopeSettings open_scope_settings(const RecordsTable &table, const text *scope) {
  const ScopeSettings settings = scope_settings(table, scope);
  require_not_reserved(table, scope);
  return settings;
}

ScopeSettings own_scope_settings(const RecordsTable &table, const text *scope) {
  const CachedScope found = look_up(table, scope);
  ScopeSettings settings = found.settings;
  if (!found.has_max_result_bytes)
    settings.max_result_bytes = server::settings.default_max_result_bytes;
  return settings;
}

TimestampTz lease_deadline(const ScopeSettings &settings, const Interval *lease, TimestampTz now) {
  if (lease == nullptr && !settings.has_lease)
    return now + static_cast<int64>(server::settings.default_lease) * USECS_PER_SEC;
  return server::deadline(now, lease != nullptr ? lease : &settings.lease, "lease",
                          server::Infinite::refused, false);
}

TimestampTz retain_deadline(const ScopeSettings &settings, const Interval *retain,
                            TimestampTz now) {
  if (retain == nullptr && !settings.has_retain)
    return now + static_cast<int64>(server::settings.default_retain) * USECS_PER_SEC;
  return server::deadline(now, retain != nullptr ? retain : &settings.retain, "retain",
                          server::Infinite::allowed, false);
}

Interval lease_interval(const ScopeSettings &settings, const Interval *lease) {
  (void)lease_deadline(settings, lease, GetCurrentTimestamp());
  if (lease != nullptr) return *lease;
  return settings.has_lease ? settings.lease : seconds(server::settings.default_lease);
}

void require_size(const ScopeSettings &settings, NullableDatum value, NullableDatum other,
                  const char *what) {
  Size size = 0;
  if (!value.isnull) size += toast_raw_datum_size(value.value) - VARHDRSZ;
  if (!other.isnull) size += toast_raw_datum_size(other.value) - VARHDRSZ;
  if (size <= static_cast<Size>(settings.max_result_bytes)) return;
  ereport(ERROR, (errcode(server::errcode_of(sqlstate::kTooLarge)), errmsg("%s is too large", what),
                  errdetail("It has %zu bytes as stored; the limit of the scope is %d.", size,
                            settings.max_result_bytes),
                  errhint("Store a reference to it instead, or raise max_result_bytes with "
                          "idem_scope_set.")));
}

}  // namespace idem::records
