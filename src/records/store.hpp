// Reading and writing rows of idem_records. Every write is one conditional statement that repeats
// what the decision relied on, so a decision made on a record that has changed since writes
// nothing.
//
// All functions run inside the caller's transaction, as the owner of the table, and may ereport.

#pragma once

#include "records/decision.hpp"
#include "records/record.hpp"
#include "records/table.hpp"
#include "server/prelude.hpp"

namespace idem::records {

// The record as last committed or as written by this transaction, plus whether an open transaction
// is inserting it (only the direct path can tell; by SQL such a record is absent). With a
// transaction-wide snapshot (REPEATABLE READ, SERIALIZABLE) the record must be in that snapshot; a
// newer one raises 40001, because the caller's other reads would not go with it.
Sighting look(const RecordsTable &table, const Identity &id);

// The same for callers who take `absent` for an answer: a plain look may miss a record that is just
// being moved. One who then inserts is corrected by the index.
Sighting look_surely(const RecordsTable &table, const Identity &id);

// The record in the active snapshot, for readers that must not write.
Sighting look_in_snapshot(const RecordsTable &table, const Identity &id);

// Whether a manner with Blocking::never is heeded; by SQL every write waits as needed.
bool writes_without_waiting(const RecordsTable &table);

// Each says whether it wrote. They wait for open transactions that hold the row or its key, those
// with a manner only as far as it says. `competitor` says that the last look showed an open
// transaction inserting the same key.
bool insert_claim(const RecordsTable &table, const Identity &id, const Grant &grant,
                  bool competitor);
Written reclaim(const RecordsTable &table, const Identity &id, const Grant &grant,
                const RecordState &expected, const Manner &manner);
// The same for an expired record whose scope archives: moves what was there to idem_archive.
bool reclaim_archiving(const RecordsTable &table, const Identity &id, const Grant &grant,
                       const RecordState &expected);

// What the former owner left behind, as it was when its claim was taken over: later than the look,
// if the write had to wait for its last transaction.
struct Handover {
  std::int32_t attempt;  // the successor's
  NullableDatum checkpoint;
  NullableDatum checkpoint_data;
};

Written take_over(const RecordsTable &table, const Identity &id, const Grant &grant,
                  const RecordState &expected, const Manner &manner, Handover *handover);
// Gives this transaction's claim the token and lease of `grant` in place of those of `token`; a
// first attempt also starts its retention anew.
bool renew(const RecordsTable &table, const Identity &id, const Grant &grant, std::int64_t token,
           bool first_attempt);

// Dates a record that is no claim (any more) anew: when it began, unless NULL, and when it ends,
// which never comes earlier.
bool redate(const RecordsTable &table, const Identity &id, std::int64_t token,
            NullableDatum created_at, TimestampTz expires_at);

bool settle(const RecordsTable &table, const Identity &id, std::int64_t token,
            const Outcome &outcome);
bool release(const RecordsTable &table, const Identity &id, std::int64_t token);

// The same, but the key rests until `until`, when anybody may have it.
bool retire(const RecordsTable &table, const Identity &id, std::int64_t token, TimestampTz until);

// Keeps the claim in place until the transaction ends: nobody can claim it for a new use, while its
// owner can still extend it and give it back. Waits for whoever is claiming it.
bool share_claim(const RecordsTable &table, const Identity &id, std::int64_t token);

// Both refuse a lease that is over unless `overdue`.
bool extend(const RecordsTable &table, const Identity &id, std::int64_t token, TimestampTz until,
            bool overdue, TimestampTz *lease_expires_at);
bool checkpoint(const RecordsTable &table, const Identity &id, std::int64_t token, Datum name,
                NullableDatum data, bool overdue);

// Ends an abandoned claim for good (finished or failed) or hands it to the next claimant
// (in_progress), under a new token.
bool resolve(const RecordsTable &table, const Identity &id, std::int64_t token,
             const Outcome &outcome, const RecordState &expected);
bool forget(const RecordsTable &table, const Identity &id, const RecordState &expected);

// How often a write that found nothing to write is tried again when another look says that it could
// have written: the record has just changed, as with a heartbeat. Then give_up raises 40001.
inline constexpr int kWriteRounds = 16;
[[noreturn]] void give_up(const Identity &id);

std::int64_t next_token(const RecordsTable &table);

}  // namespace idem::records
