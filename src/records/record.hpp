// A row of idem_records in memory.

#pragma once

#include "records/decision.hpp"
#include "records/table.hpp"
#include "server/prelude.hpp"

namespace idem::records {

struct Identity {
  const text *scope;
  const text *key;
};

// A 64-bit hash of both parts and of what the seed stands for.
std::uint64_t hash_of(const Identity &id, std::uint64_t seed);

// Datums live in the memory context that was current when the record was read.
struct Record {
  RecordState state;
  Datum values[kColumns];
  bool nulls[kColumns];

  bool null(Column column) const { return nulls[static_cast<int>(column)]; }
  Datum value(Column column) const { return values[static_cast<int>(column)]; }
  void set(Column column, NullableDatum datum) {
    values[static_cast<int>(column)] = datum.value;
    nulls[static_cast<int>(column)] = datum.isnull;
  }
};

struct Sighting {
  Presence presence;
  Record record;  // only when present
};

struct Outcome {
  Status status;  // finished or failed
  NullableDatum code;
  NullableDatum result;
  NullableDatum body;
};

// What a new claim writes. `owner` and `fingerprint` may be null.
struct Grant {
  std::int64_t token;
  const text *owner;
  const bytea *fingerprint;
  TimestampTz granted_at;
  TimestampTz lease_expires_at;
  TimestampTz expires_at;
  NullableDatum grace;  // integer, milliseconds: how long after the lease the claim stays shut
  NullableDatum data;   // jsonb, for those who find the key taken
  const Outcome
      *outcome;  // what the record holds from its first moment on; null: it is in progress
};

enum class Written {
  yes,
  no,   // what the caller relied on is so no more
  busy  // an open transaction has the row
};

inline Written written_if(bool wrote) {
  return wrote ? Written::yes : Written::no;
}

enum class Blocking { as_needed, never };

// How a write treats the other transactions at the row.
struct Manner {
  Blocking blocking;
  // Also keep clear of those that only hold the claim in place; see share_claim.
  bool alone;
};

const char *status_name(Status status);

// The row of a claim as new; its state is not filled in.
Record record_of(const Identity &id, const Grant &grant);

// Fills a record from a tuple of the given descriptor, whose column numbers are in `columns`.
// Values point into the tuple. Raises XX001 for a status that is not ours.
Record read_record(HeapTuple tuple, TupleDesc descriptor, const AttrNumber *columns,
                   TransactionId xmin);

}  // namespace idem::records
