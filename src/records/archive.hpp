// The partitions of idem_archive: one for each month, in UTC, in which records are moved there.

#pragma once

#include "server/prelude.hpp"
#include "server/statement.hpp"

namespace idem::records {

// The columns of idem_records, which idem_archive has as well.
#define IDEM_RECORD_COLUMNS                                                                   \
  "scope, key, token, attempt, created_at, lease_expires_at, expires_at, owner, fingerprint," \
  " checkpoint, checkpoint_data, status, completed_at, code, result, body"

// Whether any scope wants its expired records archived.
bool archives_records(const server::Home &home);

// Makes the partition that takes what is moved while its month has none, unless it is there: a claim
// that archives the record whose place it takes must neither fail nor wait for a month to be made.
void provide_default_partition(const server::Home &home);

// Makes the partition for `time` unless it is there. Takes locks that reads and writes of the
// archive do not conflict with. Raises 42P07 when another relation has the name.
void provide_partition(const server::Home &home, TimestampTz time);

// The same for now, and for the next month if that is near.
void provide_partitions(const server::Home &home, TimestampTz now);

// Drops, in this transaction, one partition of which everything is older than `retention` seconds.
// Waits for readers of the archive no longer than a second and does nothing if that is not enough.
enum class Dropping { nothing_to_drop, dropped, busy };
Dropping drop_old_partition(const server::Home &home, TimestampTz now, int retention);

}  // namespace idem::records
