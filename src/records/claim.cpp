#include "records/claim.hpp"

#include <algorithm>

#include "records/session_claims.hpp"
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

constexpr long kFirstPoll = 1;
constexpr long kLongestPoll = 50;

constexpr NullableDatum kNull = {0, true};

NullableDatum present(Datum value) {
  return {value, false};
}

NullableDatum column(const Record &record, Column which) {
  return {record.value(which), record.null(which)};
}

Datum interval_of(Micros micros) {
  auto *interval = static_cast<Interval *>(palloc0(sizeof(Interval)));
  interval->time = micros;
  return IntervalPGetDatum(interval);
}

Claim empty_claim(ClaimOutcome outcome) {
  return {outcome, kNull, kNull, kNull, kNull, kNull, kNull,
          kNull,   kNull, kNull, kNull, kNull, kNull};
}

// What a caller without the claim may see of it.
Claim refusal(ClaimOutcome outcome, const Sighting &sighting) {
  Claim claim = empty_claim(outcome);
  if (sighting.presence != Presence::present || outcome == ClaimOutcome::mismatch) return claim;
  claim.attempt = column(sighting.record, Column::attempt);
  claim.owner = column(sighting.record, Column::owner);
  claim.lease_expires_at = column(sighting.record, Column::lease_expires_at);
  claim.expires_at = column(sighting.record, Column::expires_at);
  return claim;
}

Claim busy(const Sighting &sighting, Micros retry_after) {
  Claim claim = refusal(ClaimOutcome::in_progress, sighting);
  claim.retry_after = present(interval_of(retry_after));
  return claim;
}

Claim replay(const Record &record) {
  Claim claim = empty_claim(ClaimOutcome::replayed);
  claim.attempt = column(record, Column::attempt);
  claim.code = column(record, Column::code);
  claim.result = column(record, Column::result);
  claim.body = column(record, Column::body);
  claim.failed = present(BoolGetDatum(record.state.status == Status::failed));
  claim.owner = column(record, Column::owner);
  claim.lease_expires_at = column(record, Column::lease_expires_at);
  claim.expires_at = column(record, Column::expires_at);
  return claim;
}

Claim started(const Grant &grant, std::int32_t attempt, TimestampTz expires_at) {
  Claim claim = empty_claim(ClaimOutcome::started);
  claim.token = present(Int64GetDatum(grant.token));
  claim.attempt = present(Int32GetDatum(attempt));
  claim.owner = {PointerGetDatum(grant.owner), grant.owner == nullptr};
  claim.lease_expires_at = present(TimestampTzGetDatum(grant.lease_expires_at));
  claim.expires_at = present(TimestampTzGetDatum(expires_at));
  return claim;
}

Claim resumed(const Grant &grant, const Handover &handover, const Record &record) {
  Claim claim = started(grant, handover.attempt, record.state.expires_at);
  claim.checkpoint = handover.checkpoint;
  claim.checkpoint_data = handover.checkpoint_data;
  return claim;
}

// One attempt to write a claim.
struct Attempt {
  RecordsTable *table;
  const BeginRequest *request;
  const ScopeSettings *settings;
  const RecordState *expected;
  BeginStep step;
  bool competitor;
  Grant grant;
  Handover handover;  // only of a takeover
  bool claimed;
};

// Operators look for the owner of a stuck claim; the application's name is better than nothing.
const text *owner_or_application(const text *owner) {
  if (owner != nullptr || application_name == nullptr || application_name[0] == '\0') return owner;
  return cstring_to_text(application_name);
}

void draw_grant(Attempt &attempt) {
  const BeginRequest &request = *attempt.request;
  Grant &grant = attempt.grant;
  grant.granted_at = GetCurrentTimestamp();
  grant.lease_expires_at = lease_deadline(*attempt.settings, request.lease, grant.granted_at);
  grant.expires_at = retain_deadline(*attempt.settings, request.retain, grant.granted_at);
  grant.owner = owner_or_application(request.owner);
  grant.fingerprint = request.fingerprint;
  // Drawn after the old record was read: a key's tokens only grow.
  grant.token = next_token(*attempt.table);
}

// A released record has not expired: nothing happened that is worth keeping.
bool archives(const Attempt &attempt) {
  return attempt.settings->archives && expired(*attempt.expected, attempt.grant.granted_at);
}

bool write_claim(Attempt &attempt) {
  const Identity &id = attempt.request->id;
  switch (attempt.step) {
    case BeginStep::insert:
      return insert_claim(*attempt.table, id, attempt.grant, attempt.competitor);
    case BeginStep::reclaim:
      return archives(attempt)
                 ? reclaim_archiving(*attempt.table, id, attempt.grant, *attempt.expected)
                 : reclaim(*attempt.table, id, attempt.grant, *attempt.expected);
    default:
      return take_over(*attempt.table, id, attempt.grant, *attempt.expected, &attempt.handover);
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
  if (!renew(*attempt.table, attempt.request->id, attempt.grant, token,
             attempt.step != BeginStep::take_over))
    elog(ERROR, "claim disappeared within its own transaction");
}

void try_claim(void *argument) {
  Attempt &attempt = *static_cast<Attempt *>(argument);
  lock_records(*attempt.table, RowExclusiveLock);
  draw_grant(attempt);
  attempt.claimed = write_claim(attempt);
  if (attempt.claimed) renew_if_stale(attempt);
}

enum class Tried { claimed, lost, timed_out };

// A claim may wait for two locks in turn, and lock_timeout counts for each. Half of the time that
// is left keeps the sum within it; what remains is for the next try.
int lock_limit(const Wait &wait) {
  const Micros left = std::max<Micros>(wait.deadline - GetCurrentTimestamp(), 0) / 1000;
  return static_cast<int>(std::min<Micros>(std::max<Micros>(left / 2, 1), INT_MAX));
}

Tried try_claim_within(Attempt &attempt, const Wait &wait) {
  if (!wait.bounded)
    try_claim(&attempt);
  else if (!server::run_within(lock_limit(wait), try_claim, &attempt))
    return Tried::timed_out;
  return attempt.claimed ? Tried::claimed : Tried::lost;
}

Wait wait_of(const BeginRequest &request) {
  if (request.wait == nullptr) return {false, 0};
  return {true, server::deadline(GetCurrentTimestamp(), request.wait, "wait",
                                 server::Infinite::allowed, true)};
}

void sleep_before_next_look(const Wait &wait, long *delay) {
  const Micros left = std::max<Micros>(wait.deadline - GetCurrentTimestamp(), 0) / 1000 + 1;
  const long timeout = static_cast<long>(std::min<Micros>(left, *delay));
  (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, timeout,
                  server::claim_wait_event());
  ResetLatch(MyLatch);
  *delay = std::min(*delay * 2, kLongestPoll);
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

Claim answer(const BeginVerdict &verdict, const Sighting &sighting) {
  switch (verdict.step) {
    case BeginStep::replayed:
      return replay(sighting.record);
    case BeginStep::mismatch:
      return refusal(ClaimOutcome::mismatch, sighting);
    case BeginStep::held:
      return refusal(ClaimOutcome::held, sighting);
    case BeginStep::exhausted:
      return refusal(ClaimOutcome::exhausted, sighting);
    default:
      return busy(sighting, verdict.retry_after);
  }
}

bool is_claiming(BeginStep step) {
  return step == BeginStep::insert || step == BeginStep::reclaim || step == BeginStep::take_over;
}

const char *outcome_name(ClaimOutcome outcome) {
  switch (outcome) {
    case ClaimOutcome::started:
      return "started";
    case ClaimOutcome::finished:
      return "finished";
    case ClaimOutcome::replayed:
      return "replayed";
    case ClaimOutcome::in_progress:
      return "in_progress";
    case ClaimOutcome::mismatch:
      return "mismatch";
    case ClaimOutcome::held:
      return "held";
    case ClaimOutcome::exhausted:
      break;
  }
  return "exhausted";
}

[[noreturn]] void give_up_claiming(const Identity &id) {
  ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                  errmsg("could not settle the race for key \"%s\"", text_to_cstring(id.key)),
                  errdetail("Its record was created and removed again %d times in a row.", kRounds),
                  errhint("Retry the transaction.")));
  pg_unreachable();
}

}  // namespace

Claim begin(RecordsTable table, const BeginRequest &request, const ScopeSettings &settings) {
  const Wait wait = wait_of(request);
  long delay = kFirstPoll;
  for (int round = 0; round < kRounds;) {
    CHECK_FOR_INTERRUPTS();
    const Sighting sighting = look(table, request.id);
    const RecordState *state = &sighting.record.state;
    const BeginVerdict verdict =
        decide_begin(sighting.presence, *state, compare_fingerprints(sighting, request.fingerprint),
                     settings.policy, wait, GetCurrentTimestamp());
    if (verdict.step == BeginStep::poll) {
      sleep_before_next_look(wait, &delay);
      continue;
    }
    if (!is_claiming(verdict.step)) return answer(verdict, sighting);

    const bool competitor = sighting.presence == Presence::uncommitted;
    Attempt attempt = {&table, &request, &settings, state, verdict.step, competitor, {}, {}, false};
    switch (try_claim_within(attempt, wait)) {
      case Tried::claimed:
        remember_claim(request.id, attempt.grant.token);
        return verdict.step == BeginStep::take_over
                   ? resumed(attempt.grant, attempt.handover, sighting.record)
                   : started(attempt.grant, 1, attempt.grant.expires_at);
      case Tried::timed_out:
        // Somebody's open transaction has the key or its row; what it will make of it is not known.
        if (GetCurrentTimestamp() >= wait.deadline)
          return busy({Presence::uncommitted, {}}, kUncommittedRetry);
        break;
      case Tried::lost:
        round++;
        break;
    }
  }
  give_up_claiming(request.id);
}

void require_claim_or_result(const Claim &claim, const Identity &id) {
  switch (claim.outcome) {
    case ClaimOutcome::started:
    case ClaimOutcome::finished:
    case ClaimOutcome::replayed:
      return;
    case ClaimOutcome::in_progress: {
      const char *retry_after =
          DatumGetCString(DirectFunctionCall1(interval_out, claim.retry_after.value));
      ereport(ERROR, (errcode(server::errcode_of(sqlstate::kInProgress)),
                      errmsg("key \"%s\" is already being worked on", text_to_cstring(id.key)),
                      errdetail("Another claim holds it; retry after %s.", retry_after),
                      errhint("Retry later with the same key.")));
      break;
    }
    case ClaimOutcome::mismatch:
      ereport(ERROR,
              (errcode(server::errcode_of(sqlstate::kFingerprint)),
               errmsg("key \"%s\" was used for a different request", text_to_cstring(id.key)),
               errdetail("The fingerprints differ."), errhint("Use a new key for a new request.")));
      break;
    case ClaimOutcome::held:
    case ClaimOutcome::exhausted:
      ereport(ERROR, (errcode(server::errcode_of(sqlstate::kHeld)),
                      errmsg("key \"%s\" needs an operator", text_to_cstring(id.key)),
                      claim.outcome == ClaimOutcome::held
                          ? errdetail("Its owner was lost, and the scope holds abandoned work.")
                          : errdetail("It was attempted %d times, the most the scope allows.",
                                      DatumGetInt32(claim.attempt.value)),
                      errhint("Find out how far the work got, then call idem_resolve.")));
  }
}

Datum claim_datum(const RecordsTable &table, const Claim &claim) {
  const NullableDatum columns[] = {present(CStringGetTextDatum(outcome_name(claim.outcome))),
                                   claim.token,
                                   claim.attempt,
                                   claim.code,
                                   claim.result,
                                   claim.body,
                                   claim.failed,
                                   claim.checkpoint,
                                   claim.checkpoint_data,
                                   claim.owner,
                                   claim.lease_expires_at,
                                   claim.expires_at,
                                   claim.retry_after};
  Datum values[lengthof(columns)];
  bool nulls[lengthof(columns)];
  for (std::size_t i = 0; i < lengthof(columns); i++) {
    values[i] = columns[i].value;
    nulls[i] = columns[i].isnull;
  }
  TupleDesc descriptor = lookup_rowtype_tupdesc(table.claim_type, -1);
  if (descriptor->natts != static_cast<int>(lengthof(columns)))
    elog(ERROR, "type idem_claim has %d columns instead of %zu", descriptor->natts,
         lengthof(columns));
  HeapTuple tuple = heap_form_tuple(descriptor, values, nulls);
  ReleaseTupleDesc(descriptor);
  return HeapTupleGetDatum(tuple);
}

}  // namespace idem::records
