// The partitions of idem_archive: one for each month, in UTC, in which records are moved there.

#pragma once

#include <cstdint>

#include "cleanup/premises.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

// Whether any scope wants its expired records archived.
bool archives_records(const Premises &premises);

// Makes the partition for `now` unless it is there, and the one for the next month if that is near.
// Takes locks that reads and writes of the archive do not conflict with. Raises 42P07 when another
// relation has the name.
void provide_partitions(const Premises &premises, TimestampTz now);

// Drops, in this transaction, one partition of which everything is older than `retention` seconds.
// Waits for readers of the archive no longer than a second and does nothing if that is not enough.
enum class Dropping { nothing_to_drop, dropped, busy };
Dropping drop_old_partition(const Premises &premises, TimestampTz now, int retention);

// Moves or deletes up to `limit` expired records by SQL alone, oldest first, passing over locked
// ones. Makes the archive's partition where it is missing. Works on any kind of table.
std::int64_t purge(const Premises &premises, TimestampTz now, std::int64_t limit);

}  // namespace idem::cleanup
