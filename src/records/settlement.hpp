// What an owner does with its claim: finish, fail, release, extend, checkpoint.

#pragma once

#include "records/scopes.hpp"
#include "records/store.hpp"
#include "server/prelude.hpp"

namespace idem::records {

// A claim as its owner presents it.
struct Presented {
  Identity id;
  NullableDatum token;  // bigint; NULL: the claim this session or transaction made
};

// Stores the outcome. True when it was stored now, false when exactly it was stored before. Raises
// ID404, ID410 or ID412, and ID413 for an outcome over the scope's limit.
bool settle_claim(const RecordsTable &table, const Presented &claim, const ScopeSettings &settings,
                  const Outcome &outcome);

// False when there was nothing to give back. Raises ID410.
bool release_claim(const RecordsTable &table, const Presented &claim);

// The new end of the lease, which never comes earlier than the old one. Raises ID404 or ID410.
TimestampTz extend_claim(const RecordsTable &table, const Presented &claim, const Interval &lease);

// Raises ID404, ID410, and ID413 for data over the scope's limit.
void checkpoint_claim(const RecordsTable &table, const Presented &claim,
                      const ScopeSettings &settings, Datum name, NullableDatum data);

// Keeps a result until that time at least; false when there is none (any more).
bool prolong_result(const RecordsTable &table, const Identity &id, TimestampTz until);

// Removes a result before its time; false when there is none that counts.
bool forget_result(const RecordsTable &table, const Identity &id);

// What locks need of this. Each tells instead of raising why it did nothing; `unknown` when no
// token was presented and this session knows of none.
TokenStep try_release(const RecordsTable &table, const Presented &claim);
TokenStep try_extend(const RecordsTable &table, const Presented &claim, const Interval &lease,
                     TimestampTz *lease_expires_at);
// Releases the claim, but nobody may have the key before `until`.
TokenStep try_retire(const RecordsTable &table, const Presented &claim, TimestampTz until);
// Until the transaction ends nobody can claim the key for a new use, whatever becomes of the lease.
TokenStep try_share(const RecordsTable &table, const Presented &claim);

// The record as it is now; `allow` when it is in progress under the presented token.
TokenStep try_find(const RecordsTable &table, const Presented &claim, Record *record);

}  // namespace idem::records
