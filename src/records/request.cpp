#include "records/request.hpp"

#include "records/limits.hpp"
#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace idem::records {

namespace {

// The short forms of a function have fewer arguments.
bool is_left_out(FunctionCallInfo fcinfo, int number) {
  return number >= PG_NARGS() || PG_ARGISNULL(number);
}

}  // namespace

Identity read_identity(FunctionCallInfo fcinfo, int key, int scope) {
  Identity id;
  id.key = server::required_text(fcinfo, key, "key", kMaxKeyBytes);
  id.scope = server::required_text(fcinfo, scope, "scope", kMaxScopeBytes);
  return id;
}

const Interval *read_interval(FunctionCallInfo fcinfo, int number) {
  return is_left_out(fcinfo, number) ? nullptr : PG_GETARG_INTERVAL_P(number);
}

bool read_flag(FunctionCallInfo fcinfo, int number) {
  return !is_left_out(fcinfo, number) && PG_GETARG_BOOL(number);
}

const bytea *read_fingerprint(FunctionCallInfo fcinfo, int number, const ScopeSettings &settings) {
  const bytea *fingerprint =
      server::limited_text(fcinfo, number, "fingerprint", kMaxFingerprintBytes);
  if (fingerprint == nullptr && settings.require_fingerprint)
    ereport(ERROR, (errcode(server::errcode_of(sqlstate::kBadArgument)),
                    errmsg("fingerprint must not be null in this scope"),
                    errhint("Pass idem_fingerprint(payload), or change the scope with "
                            "idem_scope_set.")));
  return fingerprint;
}

const text *read_owner(FunctionCallInfo fcinfo, int number) {
  if (is_left_out(fcinfo, number)) return nullptr;
  return server::limited_text(fcinfo, number, "owner", kMaxOwnerBytes);
}

}  // namespace idem::records
