// What idem_scopes says about a scope, cached per session and invalidated when the table changes.

#pragma once

#include "records/decision.hpp"
#include "records/table.hpp"
#include "server/prelude.hpp"

namespace idem::records {

struct ScopeSettings {
  Policy policy;
  bool has_retain;
  Interval retain;
  bool has_lease;
  Interval lease;
  std::int32_t max_result_bytes;
  bool require_fingerprint;
  bool archives;  // what expires goes to idem_archive
  Oid member;     // InvalidOid: everybody who may call the function
};

// The settings of a scope, with those that it leaves open taken from idem.*. Reads the newest
// committed row whatever the isolation level: a policy is configuration, not data. Raises 42501
// when the scope belongs to a role that the current user is not a member of.
ScopeSettings scope_settings(const RecordsTable &table, const text *scope);

// The same for a scope that an application names. Raises 42501 also when its name begins with
// "idem.", unless the caller acts for the owner of the table: such scopes are the extension's own.
// A claim in one of them would be taken for its, and the token of one would end it.
ScopeSettings open_scope_settings(const RecordsTable &table, const text *scope);

// The same for a scope of the extension's own, whoever calls.
ScopeSettings own_scope_settings(const RecordsTable &table, const text *scope);

TimestampTz lease_deadline(const ScopeSettings &settings, const Interval *lease, TimestampTz now);
TimestampTz retain_deadline(const ScopeSettings &settings, const Interval *retain, TimestampTz now);

// The lease as an interval, for a deadline that SQL computes. Refuses what lease_deadline refuses.
Interval lease_interval(const ScopeSettings &settings, const Interval *lease);

// Raises ID413 when `value` (NULL counts as nothing) and `other` together exceed the scope's limit.
void require_size(const ScopeSettings &settings, NullableDatum value, NullableDatum other,
                  const char *what);

}  // namespace idem::records
