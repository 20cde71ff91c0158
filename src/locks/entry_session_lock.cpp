// idem_session_lock, idem_session_unlock and idem_xact_lock.

#include "locks/grant.hpp"
#include "locks/known_names.hpp"
#include "locks/manager.hpp"
#include "locks/registry.hpp"
#include "locks/taking.hpp"
#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace {

using idem::locks::Grant;
using idem::locks::Holder;
using idem::locks::Kind;
using idem::locks::KnownName;
using idem::locks::LockName;
using idem::locks::Patience;
using idem::locks::Taken;

LockName read_name(FunctionCallInfo fcinfo) {
  return idem::locks::lock_name(
      idem::server::required_text(fcinfo, 0, "name", idem::locks::kMaxNameBytes));
}

Patience read_wait(FunctionCallInfo fcinfo) {
  if (PG_ARGISNULL(1)) return {false, 0};
  const TimestampTz deadline =
      idem::server::deadline(GetCurrentTimestamp(), PG_GETARG_INTERVAL_P(1), "wait",
                             idem::server::Infinite::allowed, true);
  return {!TIMESTAMP_IS_NOEND(deadline), deadline};
}

std::int64_t draw_token(FunctionCallInfo fcinfo) {
  const Oid schema = get_func_namespace(fcinfo->flinfo->fn_oid);
  const Oid tokens = get_relname_relid("idem_tokens", schema);
  if (!OidIsValid(tokens))
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("sequence idem_tokens does not exist"),
                    errhint("It belongs to the extension pg_idem; restore it, or re-create the "
                            "extension.")));
  return nextval_internal(tokens, false);
}

// What operators look for when they ask who has it.
const char *session_label() {
  if (application_name != nullptr && application_name[0] != '\0') return application_name;
  const char *user = GetUserNameFromId(GetSessionUserId(), true);
  return user != nullptr ? user : "";
}

// Drawn after the lock was taken: a name's tokens only grow. One that could not be drawn earlier,
// in a transaction that could not write, still comes before those of all later holders.
void describe_hold(FunctionCallInfo fcinfo, KnownName *known, bool is_new) {
  if (is_new) {
    known->has_token = false;
    known->acquired_at = GetCurrentTimestamp();
  }
  if (!known->has_token && !XactReadOnly && !RecoveryInProgress()) {
    known->token = draw_token(fcinfo);
    known->has_token = true;
  }
}

NullableDatum text_column(const char *value) {
  return {CStringGetTextDatum(value), false};
}

Grant refusal(const LockName &name) {
  Grant grant = {false};
  Holder holder;
  if (idem::locks::registry_available() && idem::locks::holder_of(name, &holder))
    grant.holder = text_column(holder.name);
  return grant;
}

Grant granted(const KnownName &known, std::int64_t times) {
  Holder holder = {MyProcPid, known.has_token, known.token, known.acquired_at, {}};
  strlcpy(holder.name, session_label(), sizeof(holder.name));
  if (idem::locks::registry_available()) idem::locks::note_holder(known.name, holder);
  Grant grant = {true};
  grant.token = {Int64GetDatum(known.token), !known.has_token};
  grant.holder = text_column(holder.name);
  grant.depth = {Int32GetDatum(static_cast<int32>(times)), false};
  return grant;
}

Datum lock(FunctionCallInfo fcinfo, Kind kind) {
  const LockName name = read_name(fcinfo);
  const Taken taken = idem::locks::take(name, kind, read_wait(fcinfo));
  if (taken.times == 0) return grant_datum(fcinfo, refusal(name));
  describe_hold(fcinfo, taken.known, taken.is_new);
  const Datum result = grant_datum(fcinfo, granted(*taken.known, taken.times));
  // Last, because no ERROR would take it back.
  if (kind == Kind::session) idem::locks::keep_for_session(tag_of(*taken.known));
  return result;
}

[[noreturn]] void refuse_release(const LockName &name, bool by_transaction) {
  ereport(
      ERROR,
      (errcode(idem::server::errcode_of(idem::sqlstate::kStaleToken)),
       errmsg("this session does not hold lock \"%s\"", cstring_of(name)),
       by_transaction ? errdetail("The transaction holds it, and lets go of it when it ends.")
                      : errdetail("It was never taken in this session, or was released already."),
       by_transaction
           ? 0
           : errhint("Behind a pooler that hands connections over between transactions, use "
                     "idem_lock or idem_xact_lock.")));
  pg_unreachable();
}

}  // namespace

IDEM_FUNCTION(idem_session_lock) {
  return lock(fcinfo, Kind::session);
}

IDEM_FUNCTION(idem_xact_lock) {
  return lock(fcinfo, Kind::transaction);
}

IDEM_FUNCTION(idem_session_unlock) {
  const LockName name = read_name(fcinfo);
  const KnownName *known = idem::locks::find_known(name);
  if (known == nullptr) refuse_release(name, false);
  const LOCKTAG tag = tag_of(*known);
  if (!idem::locks::holds(tag, Kind::session))
    refuse_release(name, idem::locks::holds(tag, Kind::transaction));
  const std::int64_t left = idem::locks::release_from_session(tag);
  idem::locks::forget_unless_held(name);
  PG_RETURN_INT32(static_cast<int32>(left));
}
