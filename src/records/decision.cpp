#include "records/decision.hpp"

namespace idem::records {

namespace {

BeginVerdict plain(BeginStep step) {
  return {step, 0};
}

// The calling transaction wrote the record and has the claim, so its end, not the lease, decides.
bool claimed_here(const RecordState &record) {
  return record.written_here && record.lease_expires_at != kGivenToNext;
}

bool free_to_take(const RecordState &record, Micros now) {
  return shut_until(record) <= now && !claimed_here(record);
}

BeginVerdict busy(const RecordState &record, const Wait &wait, Micros now) {
  // Our own claim cannot settle while we wait for it.
  if (!claimed_here(record) && wait.bounded && now < wait.deadline) return plain(BeginStep::poll);
  const Micros end = shut_until(record);
  return {BeginStep::in_progress, end <= now ? kUncommittedRetry : end - now};
}

BeginStep after_lease(const RecordState &record, const Policy &policy) {
  if (record.lease_expires_at == kGivenToNext) return BeginStep::take_over;
  if (policy.max_attempts && record.attempt >= *policy.max_attempts) return BeginStep::exhausted;
  return policy.hold_abandoned ? BeginStep::held : BeginStep::take_over;
}

}  // namespace

bool lease_over(const RecordState &record, Micros now) {
  return record.lease_expires_at <= now;
}

// An infinite lease plus anything would overflow.
Micros shut_until(const RecordState &record) {
  return record.lease_expires_at > kForever - record.grace ? kForever
                                                           : record.lease_expires_at + record.grace;
}

bool shut(const RecordState &record, Micros now) {
  return (record.status == Status::in_progress || record.rests) && shut_until(record) > now;
}

bool lost(const RecordState &record) {
  return record.status == Status::in_progress && record.lease_expires_at != kGivenToNext;
}

bool expired(const RecordState &record, Micros now) {
  if (record.expires_at > now) return false;
  return record.status != Status::in_progress || free_to_take(record, now);
}

BeginVerdict decide_begin(Presence presence, const RecordState &record, Fingerprints fingerprints,
                          const Policy &policy, const Wait &wait, Micros now) {
  if (presence == Presence::absent) return plain(BeginStep::insert);
  if (presence == Presence::uncommitted) {
    // INSERT waits for the competitor and settles the race.
    if (!wait.bounded || now < wait.deadline) return plain(BeginStep::insert);
    return {BeginStep::in_progress, kUncommittedRetry};
  }
  if (record.rests && shut(record, now)) return busy(record, wait, now);
  if (expired(record, now) || record.status == Status::released) return plain(BeginStep::reclaim);
  if (policy.keeps_nothing && (record.status != Status::in_progress || free_to_take(record, now)))
    return plain(BeginStep::reclaim);
  if (fingerprints == Fingerprints::different) return plain(BeginStep::mismatch);
  if (record.status != Status::in_progress) return plain(BeginStep::replayed);
  if (!free_to_take(record, now)) return busy(record, wait, now);
  return plain(after_lease(record, policy));
}

TokenStep decide_settle(const RecordState *record, std::int64_t token, bool same_outcome) {
  const TokenStep step = decide_release(record, token);
  if (step != TokenStep::settled) return step;
  return same_outcome ? TokenStep::already : TokenStep::other_result;
}

TokenStep decide_hold(const RecordState *record, std::int64_t token, Micros now) {
  const TokenStep step = decide_release(record, token);
  if (step != TokenStep::allow) return step;
  return lease_over(*record, now) && !claimed_here(*record) ? TokenStep::lease_over
                                                            : TokenStep::allow;
}

TokenStep decide_release(const RecordState *record, std::int64_t token) {
  if (record == nullptr) return TokenStep::no_such_claim;
  if (record->token != token) return TokenStep::stale_token;
  if (record->status == Status::in_progress) return TokenStep::allow;
  return record->status == Status::released ? TokenStep::given_back : TokenStep::settled;
}

OperatorStep decide_resolve(const RecordState *record, Micros now) {
  if (record == nullptr) return OperatorStep::no_such_record;
  if (record->status != Status::in_progress) return OperatorStep::settled;
  return lease_over(*record, now) ? OperatorStep::allow : OperatorStep::still_working;
}

OperatorStep decide_forget(const RecordState *record, Micros now, bool force) {
  if (record == nullptr) return OperatorStep::no_such_record;
  if (force || record->status != Status::in_progress) return OperatorStep::allow;
  return lease_over(*record, now) ? OperatorStep::allow : OperatorStep::still_working;
}

}  // namespace idem::records
