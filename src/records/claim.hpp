// The claim: the engine behind idem_begin and idem_execute. Everything built on records begins
// here.

#pragma once

#include "records/decision.hpp"
#include "records/scopes.hpp"
#include "records/store.hpp"
#include "server/prelude.hpp"

namespace idem::records {

// What makes a claim a lock: it keeps nothing once it is over, is granted in the order of asking,
// does not mind the caller's snapshot, and can be fenced with.
struct LockTerms {
  NullableDatum data;   // jsonb, shown to those who find the lock taken
  NullableDatum delay;  // integer, milliseconds: how long a lost lock stays shut
};

struct BeginRequest {
  Identity id;
  const bytea *fingerprint;  // null: not compared
  const Interval *lease;     // null: the scope's
  const Interval *retain;    // null: the scope's
  const Interval *wait;      // null: for open transactions only
  const text *owner;         // null: application_name
  const LockTerms *lock;     // null: a claim
  const Outcome *outcome;    // null: the work is to be done; otherwise what the key gets at once
};

enum class ClaimOutcome {
  started,
  finished,  // begun and settled in one call
  replayed,
  in_progress,
  mismatch,
  held,
  exhausted
};

struct Claim {
  ClaimOutcome outcome;
  // Columns of idem_claim in their order, without `outcome`.
  NullableDatum token, attempt, code, result, body, failed, checkpoint, checkpoint_data, owner,
      lease_expires_at, expires_at, retry_after;
  // Of locks only.
  NullableDatum holder_data;
  bool after_loss;
  // Of a result, new or known: since when. Of a claim: when it was granted.
  NullableDatum created_at;
};

// Claims the key, or settles it at once where the request brings the outcome, or says why not.
// Writes nothing unless the outcome is `started` or `finished`. Raises 40001 when the record
// changed under a transaction-wide snapshot or the race for it does not settle, and whatever a lock
// wait raises when `wait` is null. For a lock a null `wait` means for ever, the table must be
// described with home.newest set, and the caller's lock_timeout counts for every wait.
Claim begin(RecordsTable table, const BeginRequest &request, const ScopeSettings &settings);

// Raises ID409, ID422 or ID423 for an outcome that leaves the caller without a claim or a result.
void require_claim_or_result(const Claim &claim, const Identity &id);

// The claim as an idem_claim value.
Datum claim_datum(const RecordsTable &table, const Claim &claim);

}  // namespace idem::records
