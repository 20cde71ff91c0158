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

// What a new claim writes. `owner` and `fingerprint` may be null.
struct Grant {
  std::int64_t token;
  const text *owner;
  const bytea *fingerprint;
  TimestampTz granted_at;
  TimestampTz lease_expires_at;
  TimestampTz expires_at;
};

struct Outcome {
  Status status;  // finished or failed
  NullableDatum code;
  NullableDatum result;
  NullableDatum body;
};

const char *status_name(Status status);

// Fills a record from a tuple of the given descriptor, whose column numbers are in `columns`.
// Values point into the tuple. Raises XX001 for a status that is not ours.
Record read_record(HeapTuple tuple, TupleDesc descriptor, const AttrNumber *columns,
                   TransactionId xmin);

}  // namespace idem::records
