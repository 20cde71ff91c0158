#include "records/claim.hpp"

#include <algorithm>

#include "records/answers.hpp"
#include "records/queue.hpp"
#include "records/session_claims.hpp"
#include "records/wake.hpp"
#include "server/arguments.hpp"
#include "server/compat.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "server/statement.hpp"

namespace idem::records {

namespace {

// A lost race shows another session's record at the next look. Only a record that is created and
// removed again each time in between can use up the rounds.
constexpr int kRounds = 16;

// A claim that waited for a lock before it was written starts its lease anew, once the wait has
// cost more than a hundredth of it. The bounds keep a busy machine from renewing short leases, and
// a long lease from losing a noticeable time.
constexpr Micros kLeastStale = 10 * 1000;
constexpr Micros kMostStale = 1000 * 1000;

// Milliseconds between two looks at a live claim. Whoever will be woken looks now and then all the
// same: a record may also be deleted, or its lease end early, in ways that wake nobody.
constexpr long kFirstPoll = 1;
constexpr long kLongestPoll = 50;
constexpr long kWokenPoll = 1000;

// One attempt to write a claim.
struct Attempt {
  RecordsTable *table;
  const BeginRequest *request;
  const ScopeSettings *settings;
  const RecordState *expected;
  BeginStep step;
  bool competitor;
  Blocking blocking;
  Grant grant;
  Handover handover;  // only of a takeover
  Written written;
};

// Operators look for the owner of a stuck claim; the application's name is better than nothing.
const text *owner_or_application(const text *owner) {
  if (owner != nullptr || application_name == nullptr || application_name[0] == '\0') return owner;
  return cstring_to_text(application_name);
}

// A lock's record lives on from claim to claim: as long as it need not be dated anew, the index on
// its end is left alone.
TimestampTz record_end(const Attempt &attempt, Micros grace) {
  const Grant &grant = attempt.grant;
  const TimestampTz shut_until = grant.lease_expires_at + grace;
  if (attempt.step != BeginStep::insert && attempt.expected->expires_at >= shut_until)
    return attempt.expected->expires_at;
  return std::max(shut_until,
                  retain_deadline(*attempt.settings, attempt.request->retain, grant.granted_at));
}

// What is settled at once needs no lease.
TimestampTz end_of_lease(const Attempt &attempt, TimestampTz granted_at) {
  if (attempt.request->outcome != nullptr) return granted_at;
  return lease_deadline(*attempt.settings, attempt.request->lease, granted_at);
}

void draw_grant(Attempt &attempt) {
  const BeginRequest &request = *attempt.request;
  Grant &grant = attempt.grant;
  grant.granted_at = GetCurrentTimestamp();
  grant.lease_expires_at = end_of_lease(attempt, grant.granted_at);
  grant.outcome = request.outcome;
  grant.owner = owner_or_application(request.owner);
  grant.fingerprint = request.fingerprint;
  grant.grace = grant.data = {0, true};
  if (request.lock != nullptr) {
    const NullableDatum delay = request.lock->delay;
    grant.grace = delay;
    grant.data = request.lock->data;
    grant.expires_at = record_end(
        attempt, delay.isnull ? 0 : static_cast<Micros>(DatumGetInt32(delay.value)) * 1000);
  } else {
    grant.expires_at = retain_deadline(*attempt.settings, request.retain, grant.granted_at);
  }
  // Drawn after the old record was read: a key's tokens only grow. What is settled at once has no
  // holder to be told from others.
  grant.token = request.outcome != nullptr ? 0 : next_token(*attempt.table);
}

// A released record has not expired: nothing happened that is worth keeping.
bool archives(const Attempt &attempt) {
  return attempt.step == BeginStep::reclaim && attempt.settings->archives &&
         expired(*attempt.expected, GetCurrentTimestamp());
}

Written write_claim(Attempt &attempt) {
  const Identity &id = attempt.request->id;
  const Manner manner = {attempt.blocking, attempt.request->lock != nullptr};
  switch (attempt.step) {
    case BeginStep::insert:
      return written_if(insert_claim(*attempt.table, id, attempt.grant, attempt.competitor));
    case BeginStep::reclaim:
      if (archives(attempt))
        return written_if(reclaim_archiving(*attempt.table, id, attempt.grant, *attempt.expected));
      return reclaim(*attempt.table, id, attempt.grant, *attempt.expected, manner);
    default:
      return take_over(*attempt.table, id, attempt.grant, *attempt.expected, manner,
                       &attempt.handover);
  }
}

bool stale(const Grant &grant) {
  const Micros lease = grant.lease_expires_at - grant.granted_at;
  const Micros most = std::clamp(lease / 100, kLeastStale, kMostStale);
  return GetCurrentTimestamp() - grant.granted_at > most;
}

void renew_if_stale(Attempt &attempt) {
  if (!stale(attempt.grant)) return;
  const std::int64_t token = attempt.grant.token;
  draw_grant(attempt);
  const Identity &id = attempt.request->id;
  const bool renewed =
      attempt.grant.outcome != nullptr
          ? redate(*attempt.table, id, token,
                   {TimestampTzGetDatum(attempt.grant.granted_at), false}, attempt.grant.expires_at)
          : renew(*attempt.table, id, attempt.grant, token, attempt.step != BeginStep::take_over);
  if (!renewed) elog(ERROR, "claim disappeared within its own transaction");
}

bool try_claim(void *argument) {
  Attempt &attempt = *static_cast<Attempt *>(argument);
  attempt.written = Written::busy;
  if (attempt.blocking == Blocking::as_needed)
    lock_records(*attempt.table, RowExclusiveLock);
  else if (!try_lock_records(*attempt.table, RowExclusiveLock))
    return false;
  draw_grant(attempt);
  attempt.written = write_claim(attempt);
  if (attempt.written == Written::yes) renew_if_stale(attempt);
  return attempt.written == Written::yes;
}

enum class Tried { claimed, lost, timed_out };

Tried outcome_of(const Attempt &attempt) {
  return attempt.written == Written::yes ? Tried::claimed : Tried::lost;
}

// A claim may wait for two locks in turn, and lock_timeout counts for each. Half of the time that
// is left keeps the sum within it; what remains is for the next try.
int lock_limit(Micros deadline) {
  const Micros left = std::max<Micros>(deadline - GetCurrentTimestamp(), 0) / 1000;
  return static_cast<int>(std::min<Micros>(std::max<Micros>(left / 2, 1), INT_MAX));
}

bool may_find_a_competitor(const Attempt &attempt) {
  return attempt.competitor || archives(attempt) || !writes_without_waiting(*attempt.table);
}

// An UPDATE that waited for a row keeps it locked although it finds it changed, and its owner out.
bool leaves_nothing(const Attempt &attempt) {
  return attempt.step == BeginStep::insert ||
         (writes_without_waiting(*attempt.table) && !archives(attempt));
}

// Without a competitor in sight the claim needs no subtransaction to keep within its time.
Tried try_claim_within(Attempt &attempt, const Wait &wait, Micros patience) {
  attempt.blocking = Blocking::as_needed;
  if (!wait.bounded) {
    if (leaves_nothing(attempt))
      (void)try_claim(&attempt);
    else
      (void)server::run_within(0, try_claim, &attempt);
    return outcome_of(attempt);
  }
  if (!may_find_a_competitor(attempt)) {
    attempt.blocking = Blocking::never;
    (void)try_claim(&attempt);
    if (attempt.written != Written::busy) return outcome_of(attempt);
    if (GetCurrentTimestamp() >= wait.deadline) return Tried::timed_out;
    attempt.blocking = Blocking::as_needed;
  }
  const int limit = lock_limit(std::min(wait.deadline, patience));
  return server::run_within(limit, try_claim, &attempt) ? outcome_of(attempt) : Tried::timed_out;
}

Wait wait_of(const BeginRequest &request, TimestampTz now) {
  if (request.wait == nullptr) return {request.lock != nullptr, kForever};
  return {true, server::deadline(now, request.wait, "wait", server::Infinite::allowed, true)};
}

// A session that has seen a live claim and waits for its end.
struct Waiter {
  const BeginRequest *request;
  Wait wait;
  Micros patience;  // when lock_timeout ends it; kForever: never, as the deadline comes first
  bool in_line;
  bool announced;
  long delay;           // milliseconds
  MemoryContext looks;  // what the last look left behind; null before the first wait
};

// Whichever of the two limits is the shorter one counts, also for a process that gets to look at
// the clock only when both are over.
Waiter waiter_for(const BeginRequest &request) {
  const TimestampTz now = GetCurrentTimestamp();
  Waiter waiter = {&request, wait_of(request, now), kForever, false, false, kFirstPoll, nullptr};
  const Micros lock_timeout_ends = request.lock != nullptr ? patience_from(now) : kForever;
  if (lock_timeout_ends < waiter.wait.deadline) {
    waiter.patience = lock_timeout_ends;
    waiter.wait.deadline = kForever;
  }
  return waiter;
}

// False when the time is up.
bool stand_in_line(Waiter &waiter) {
  if (waiter.in_line) return true;
  waiter.in_line = enter_line(waiter.request->id, std::min(waiter.wait.deadline, waiter.patience));
  if (!waiter.in_line && waiter.patience < waiter.wait.deadline) lose_patience();
  return waiter.in_line;
}

void step_out(const Waiter &waiter) {
  if (waiter.announced) withdraw_wait();
  if (waiter.in_line) leave_line(waiter.request->id);
}

void sleep_before_next_look(Waiter &waiter, const RecordState &state) {
  const Micros now = GetCurrentTimestamp();
  if (now >= waiter.patience) lose_patience();
  const Micros end = std::min({waiter.wait.deadline, waiter.patience, shut_until(state)});
  const long longest = waiter.announced ? kWokenPoll : waiter.delay;
  const long timeout =
      static_cast<long>(std::min<Micros>(std::max<Micros>(end - now, 0) / 1000 + 1, longest));
  (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, timeout,
                  server::claim_wait_event());
  ResetLatch(MyLatch);
  waiter.delay = std::min(waiter.delay * 2, kLongestPoll);
}

// Each call waits for one thing, after which the record must be looked at again.
void wait_on(Waiter &waiter, const Sighting &sighting) {
  if (waiter.looks == nullptr)
    waiter.looks =
        AllocSetContextCreate(CurrentMemoryContext, "pg_idem looks", ALLOCSET_SMALL_SIZES);
  if (!waiter.in_line) {
    (void)stand_in_line(waiter);
  } else if (!waiter.announced && announce_wait(line_of(waiter.request->id))) {
    waiter.announced = true;
  } else {
    sleep_before_next_look(waiter, sighting.record.state);
  }
}

// A wait may be long and look often.
Sighting look_again(Waiter &waiter, const RecordsTable &table) {
  if (waiter.looks == nullptr) return look(table, waiter.request->id);
  MemoryContextReset(waiter.looks);
  const MemoryContext caller = MemoryContextSwitchTo(waiter.looks);
  const Sighting sighting = look(table, waiter.request->id);
  MemoryContextSwitchTo(caller);
  return sighting;
}

Fingerprints compare_fingerprints(const Sighting &sighting, const bytea *presented) {
  if (sighting.presence != Presence::present || presented == nullptr ||
      sighting.record.null(Column::fingerprint))
    return Fingerprints::not_compared;
  const bytea *stored = DatumGetByteaPP(sighting.record.value(Column::fingerprint));
  const Size size = VARSIZE_ANY_EXHDR(stored);
  const bool equal = size == VARSIZE_ANY_EXHDR(presented) &&
                     memcmp(VARDATA_ANY(stored), VARDATA_ANY(presented), size) == 0;
  return equal ? Fingerprints::equal : Fingerprints::different;
}

bool is_claiming(BeginStep step) {
  return step == BeginStep::insert || step == BeginStep::reclaim || step == BeginStep::take_over;
}

[[noreturn]] void give_up_claiming(const Identity &id) {
  ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                  errmsg("could not settle the race for key \"%s\"", text_to_cstring(id.key)),
                  errdetail("Its record was created and removed again %d times in a row.", kRounds),
                  errhint("Retry the transaction.")));
  pg_unreachable();
}

Claim granted(const Attempt &attempt, const Sighting &sighting) {
  if (attempt.grant.outcome != nullptr) return settled(attempt.grant);
  remember_claim(attempt.request->id, attempt.grant.token);
  if (attempt.step == BeginStep::take_over)
    return resumed(attempt.grant, attempt.handover, sighting.record);
  Claim claim = started(attempt.grant, 1, attempt.grant.expires_at);
  claim.after_loss = attempt.step == BeginStep::reclaim && lost(*attempt.expected);
  return claim;
}

// Whoever brings the outcome resumes nobody's work.
BeginStep step_of(const BeginVerdict &verdict, const BeginRequest &request) {
  const bool settles = verdict.step == BeginStep::take_over && request.outcome != nullptr;
  return settles ? BeginStep::reclaim : verdict.step;
}

Claim contend(RecordsTable &table, const BeginRequest &request, const ScopeSettings &settings,
              Waiter &waiter) {
  const Wait &wait = waiter.wait;
  for (int round = 0; round < kRounds;) {
    CHECK_FOR_INTERRUPTS();
    const Sighting sighting = look_again(waiter, table);
    const RecordState *state = &sighting.record.state;
    const BeginVerdict verdict =
        decide_begin(sighting.presence, *state, compare_fingerprints(sighting, request.fingerprint),
                     settings.policy, wait, GetCurrentTimestamp());
    if (verdict.step == BeginStep::poll) {
      wait_on(waiter, sighting);
      round = 0;
      continue;
    }
    if (!is_claiming(verdict.step)) return answer(verdict, sighting);

    const bool competitor = sighting.presence == Presence::uncommitted;
    Attempt attempt = {&table,     &request, &settings, state, step_of(verdict, request),
                       competitor, {},       {},        {},    {}};
    switch (try_claim_within(attempt, wait, waiter.patience)) {
      case Tried::claimed:
        return granted(attempt, sighting);
      case Tried::timed_out:
        // Somebody's open transaction has the key or its row; what it will make of it is not known.
        if (GetCurrentTimestamp() >= wait.deadline)
          return busy({Presence::uncommitted, {}}, kUncommittedRetry);
        if (GetCurrentTimestamp() >= waiter.patience) lose_patience();
        break;
      case Tried::lost:
        round++;
        break;
    }
  }
  give_up_claiming(request.id);
}

// The answer for whoever did not even come to the head of the line in time.
Claim outrun(const RecordsTable &table, const BeginRequest &request) {
  const Sighting sighting = look(table, request.id);
  const Micros now = GetCurrentTimestamp();
  const bool held = sighting.presence == Presence::present && shut(sighting.record.state, now);
  if (!held) return busy({Presence::uncommitted, {}}, kUncommittedRetry);
  return busy(sighting, shut_until(sighting.record.state) - now);
}

// Whoever has written the record in this transaction overtakes nobody: all others wait for its end.
bool written_here(const RecordsTable &table, const BeginRequest &request) {
  const Sighting sighting = look(table, request.id);
  return sighting.presence == Presence::present && sighting.record.state.written_here;
}

}  // namespace

Claim begin(RecordsTable table, const BeginRequest &request, const ScopeSettings &settings) {
  Waiter waiter = waiter_for(request);
  // Nobody who asks for a lock may overtake those who wait for it.
  if (request.lock != nullptr) {
    waiter.in_line = try_line(request.id);
    if (!waiter.in_line && !written_here(table, request) && !stand_in_line(waiter))
      return outrun(table, request);
  }
  const Claim claim = contend(table, request, settings, waiter);
  step_out(waiter);
  return claim;
}

}  // namespace idem::records
