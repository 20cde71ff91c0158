// What should happen to a record, given its state, the call and the time. Plain C++: it reads
// nothing and writes nothing, so a unit test can walk every case. The store re-checks what a
// verdict relied on when it writes, and asks again if that has changed.

#pragma once

#include <cstdint>
#include <optional>

namespace idem::records {

// Microseconds on the server's clock; the extremes are the timestamps 'infinity' and '-infinity'.
using Micros = std::int64_t;
inline constexpr Micros kForever = INT64_MAX;
// A lease that an operator has ended with idem_resolve(key, 'retry').
inline constexpr Micros kGivenToNext = INT64_MIN;

// How soon to ask again when a competitor's transaction is still open: nothing says how long it
// will be.
inline constexpr Micros kUncommittedRetry = 1'000'000;

enum class Status : std::uint8_t { in_progress, finished, failed, released };

enum class Fingerprints : std::uint8_t { not_compared, equal, different };

struct RecordState {
  Status status;
  std::int64_t token;
  std::int32_t attempt;
  Micros lease_expires_at;
  Micros expires_at;
  // The calling transaction wrote this version, so nobody else can change the record before it
  // ends.
  bool written_here;
  // How long after its lease a lost claim stays shut; only locks ask for that.
  Micros grace = 0;
  // A released lock that nobody may have before the time in lease_expires_at.
  bool rests = false;
};

enum class Presence : std::uint8_t {
  absent,
  uncommitted,  // another open transaction is inserting it; nothing else is known
  present
};

struct Policy {
  std::optional<std::int32_t> max_attempts;
  bool hold_abandoned;
  // A lock: there is no work to resume and no result to replay, so that whatever is over is claimed
  // as new.
  bool keeps_nothing = false;
};

// Unbounded means: wait for open transactions as long as the server lets us, never for a live
// lease.
struct Wait {
  bool bounded;
  Micros deadline;
};

enum class BeginStep : std::uint8_t {
  insert,     // no record: claim by INSERT
  reclaim,    // an expired or released record, or a lost lock: claim it as new
  take_over,  // the owner's lease is over: claim it as the next attempt
  poll,       // a live claim, and the caller is willing to wait
  replayed,
  in_progress,
  mismatch,
  held,
  exhausted
};

struct BeginVerdict {
  BeginStep step;
  // Only for in_progress.
  Micros retry_after;
};

bool lease_over(const RecordState &record, Micros now);

// When a key can be had that has an owner, or that rests.
Micros shut_until(const RecordState &record);
bool shut(const RecordState &record, Micros now);

// A claim that was not given back in time, and that no operator has handed on.
bool lost(const RecordState &record);

// An expired record counts as absent whether or not it has been purged. A live claim never expires.
bool expired(const RecordState &record, Micros now);

// `record` and `fingerprints` are read only when `presence` is present.
BeginVerdict decide_begin(Presence presence, const RecordState &record, Fingerprints fingerprints,
                          const Policy &policy, const Wait &wait, Micros now);

// Verdict on a presented token; `record` is null when there is none.
enum class TokenStep : std::uint8_t {
  allow,
  // The stored outcome is the one being presented again.
  already,
  other_result,
  no_such_claim,
  stale_token,
  given_back,
  settled,
  lease_over,
  // No token was presented, and this session knows of none.
  unknown
};

// idem_finish and idem_fail. `same_outcome` says whether the record already holds exactly this
// outcome.
TokenStep decide_settle(const RecordState *record, std::int64_t token, bool same_outcome);

// idem_extend and idem_checkpoint.
TokenStep decide_hold(const RecordState *record, std::int64_t token, Micros now);

// idem_release.
TokenStep decide_release(const RecordState *record, std::int64_t token);

// idem_resolve and idem_forget, which need no token.
enum class OperatorStep : std::uint8_t { allow, no_such_record, still_working, settled };

OperatorStep decide_resolve(const RecordState *record, Micros now);
OperatorStep decide_forget(const RecordState *record, Micros now, bool force);

}  // namespace idem::records
