// Sequences that ids are made with: which there are, and what one must be like.

#pragma once

#include "ids/layout.hpp"
#include "server/prelude.hpp"

namespace idem::ids {

// The epoch of sequences that say nothing of it: 2025-01-01 UTC, in milliseconds since 1970.
inline constexpr Millis kDefaultEpoch = INT64CONST(1735689600000);

// Earlier ones would leave less than half of the ids, and are meant as something else.
inline constexpr Millis kFirstEpoch = INT64CONST(946684800000);

// A sequence that this session has made ids with. Kept for the session.
struct Generator {
  Oid sequence;                  // the key
  LocalTransactionId locked_in;  // which transaction holds a lock on it for us
  Oid file;     // of which the rest was read: every change of options makes a new one
  int64 start;  // last_value of the sequence when it has made no id
  Millis epoch;
};

// An open sequence; close it with close_generator.
struct OpenGenerator {
  const Generator *generator;
  Relation relation;
};

// Opens a sequence to make ids with, holds its lock until the transaction ends, and checks the
// caller's rights as nextval does. Raises 55000 for a sequence that is not fit for it.
OpenGenerator open_generator(Oid sequence);

void close_generator(const OpenGenerator &open);

// Raises 55000 for a sequence whose epoch is still to come.
[[noreturn]] void refuse_late_epoch(Oid sequence, Millis epoch);

// The epoch of a sequence, for which no rights are needed: everybody may read the catalog.
Millis epoch_of(Oid sequence);

}  // namespace idem::ids
