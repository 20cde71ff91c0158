// Durable locks, for their functions and for rooms that take one: records of a scope of their own.

#pragma once

#include "records/claim.hpp"
#include "records/scopes.hpp"
#include "records/store.hpp"
#include "records/table.hpp"
#include "server/prelude.hpp"

namespace idem::locks {

records::Identity durable_lock(const text *name);

// A lock is what it is now, whatever the caller's snapshot shows.
records::RecordsTable locks_table(FunctionCallInfo fcinfo, LOCKMODE mode);

// Raises 42501 for whoever may not use the scope.
records::ScopeSettings lock_settings(const records::RecordsTable &table);

// The microseconds of an interval, after the checks that `deadline` makes.
TimestampTz length_of(const Interval *interval, const char *what, bool allow_zero);

// Null stands for NULL.
const Interval *read_ttl(FunctionCallInfo fcinfo, int number);

// The locks named idem_key(pool, number), for a range of numbers.
struct NumberedLocks {
  const text *pool;
  int32 first;
  int32 last;
};

struct NumberedLock {
  int32 number;
  const text *name;
};

struct NumberedChoice {
  uint64 count;
  NumberedLock *locks;
};

// Those that nobody seems to hold, in ascending order: somebody may have one of them all the same,
// and a SERIALIZABLE transaction is given all, because reading the records would leave it predicate
// locks on those of others.
NumberedChoice free_locks(const records::RecordsTable &table, const NumberedLocks &among);

}  // namespace idem::locks
