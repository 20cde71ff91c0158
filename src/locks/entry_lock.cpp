// Durable locks: records of a scope of their own, claimed and given back like any other.

#include "locks/durable.hpp"
#include "locks/grant.hpp"
#include "locks/refusal.hpp"
#include "records/claim.hpp"
#include "records/limits.hpp"
#include "records/queue.hpp"
#include "records/request.hpp"
#include "records/settlement.hpp"
#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace {

using idem::locks::durable_lock;
using idem::locks::Grant;
using idem::locks::length_of;
using idem::locks::lock_settings;
using idem::locks::locks_table;
using idem::locks::read_ttl;
using idem::records::BeginRequest;
using idem::records::Claim;
using idem::records::ClaimOutcome;
using idem::records::Identity;
using idem::records::LockTerms;
using idem::records::Presented;
using idem::records::Record;
using idem::records::RecordsTable;
using idem::records::ScopeSettings;
using idem::records::TokenStep;

Identity read_name(FunctionCallInfo fcinfo) {
  return durable_lock(
      idem::server::required_text(fcinfo, 0, "lock name", idem::records::kMaxKeyBytes));
}

NullableDatum read_delay(FunctionCallInfo fcinfo, int number) {
  const Interval *delay = idem::records::read_interval(fcinfo, number);
  if (delay == nullptr) return {0, true};
  const int64 milliseconds = length_of(delay, "delay", true) / 1000;
  if (milliseconds > INT_MAX)
    ereport(ERROR, (errcode(idem::server::errcode_of(idem::sqlstate::kBadArgument)),
                    errmsg("delay is too long"), errdetail("It must not exceed 24 days."),
                    errhint("Pass how long work may linger after its lock was lost, such as "
                            "'15 seconds'.")));
  return {Int32GetDatum(static_cast<int32>(milliseconds)), milliseconds == 0};
}

Grant granted(const Claim &claim) {
  const bool acquired = claim.outcome == ClaimOutcome::started;
  Grant grant = {acquired};
  grant.expires_at = claim.lease_expires_at;
  grant.holder = claim.owner;
  if (acquired) {
    grant.token = claim.token;
    grant.after_loss = {BoolGetDatum(claim.after_loss), false};
  } else {
    grant.data = claim.holder_data;
    grant.retry_after = claim.retry_after;
  }
  return grant;
}

Presented presented(FunctionCallInfo fcinfo) {
  return {read_name(fcinfo), fcinfo->args[1]};
}

// When `at_least` after the grant the lock may be had again; the past if there is no such time.
TimestampTz shut_until(const Record &record, const Interval *at_least) {
  const auto granted_at = DatumGetTimestampTz(record.value(idem::records::Column::created_at));
  return granted_at + length_of(at_least, "at_least", true);
}

TokenStep unlock(const RecordsTable &table, const Presented &lock, const Interval *at_least) {
  if (at_least == nullptr) return idem::records::try_release(table, lock);
  Record record;
  const TokenStep step = idem::records::try_find(table, lock, &record);
  if (step != TokenStep::allow) return step;
  const TimestampTz until = shut_until(record, at_least);
  if (until <= GetCurrentTimestamp()) return idem::records::try_release(table, lock);
  return idem::records::try_retire(table, lock, until);
}

}  // namespace

IDEM_FUNCTION(idem_lock) {
  idem::server::require_writable("idem_lock()");
  BeginRequest request = {};
  request.id = read_name(fcinfo);
  request.lease = read_ttl(fcinfo, 1);
  request.wait = idem::records::read_interval(fcinfo, 2);
  request.owner = idem::records::read_owner(fcinfo, 3);
  const LockTerms terms = {fcinfo->args[4], read_delay(fcinfo, 5)};
  request.lock = &terms;
  const RecordsTable table = locks_table(fcinfo, AccessShareLock);
  const ScopeSettings settings = lock_settings(table);
  idem::records::require_size(settings, terms.data, {0, true}, "data");
  return grant_datum(fcinfo, granted(idem::records::begin(table, request, settings)));
}

IDEM_FUNCTION(idem_lock_extend) {
  idem::server::require_writable("idem_lock_extend()");
  const Presented lock = presented(fcinfo);
  const Interval *ttl = read_ttl(fcinfo, 2);
  const RecordsTable table = locks_table(fcinfo, RowExclusiveLock);
  const Interval lease = idem::records::lease_interval(lock_settings(table), ttl);
  TimestampTz expires_at = 0;
  const TokenStep step = idem::records::try_extend(table, lock, lease, &expires_at);
  if (step != TokenStep::allow) idem::locks::refuse_holder(step, lock.id.key);
  return TimestampTzGetDatum(expires_at);
}

IDEM_FUNCTION(idem_unlock) {
  idem::server::require_writable("idem_unlock()");
  const Presented lock = presented(fcinfo);
  const Interval *at_least = idem::records::read_interval(fcinfo, 2);
  if (at_least != nullptr) (void)length_of(at_least, "at_least", true);
  const RecordsTable table = locks_table(fcinfo, RowExclusiveLock);
  (void)lock_settings(table);
  const TokenStep step = unlock(table, lock, at_least);
  if (step == TokenStep::given_back || step == TokenStep::no_such_claim) return BoolGetDatum(false);
  if (step != TokenStep::allow) idem::locks::refuse_holder(step, lock.id.key);
  return BoolGetDatum(true);
}

IDEM_FUNCTION(idem_fence) {
  idem::server::require_writable("idem_fence()");
  const Presented lock = presented(fcinfo);
  const RecordsTable table = locks_table(fcinfo, RowExclusiveLock);
  (void)lock_settings(table);
  const TokenStep step = idem::records::try_share(table, lock);
  if (step != TokenStep::allow) idem::locks::refuse_fenced(step, lock.id.key);
  PG_RETURN_VOID();
}

IDEM_FUNCTION(idem_lock_hash) {
  return Int64GetDatum(static_cast<int64>(idem::records::line_of(read_name(fcinfo))));
}
