// The line of those who wait for one key: first come, first served. The server's lock manager keeps
// it, so that a waiter that dies leaves it at once, a deadlock is found, and lock_timeout counts.
//
// Whoever claims a lock passes through the line, waiting or not; idem_begin joins it only to wait.
// A place is held for the length of one call and no longer: no claim that lasts has an entry in the
// lock table.

#pragma once

#include "records/decision.hpp"
#include "records/record.hpp"
#include "server/prelude.hpp"

namespace idem::records {

// Two keys with the same hash share a line, but nothing else: who has a place judges by the key.
std::uint64_t line_of(const Identity &id);

// Takes the first place if nobody has it.
bool try_line(const Identity &id);

// Waits for the first place; false when that took until the deadline. A deadlock raises 40P01.
bool enter_line(const Identity &id, Micros deadline);

// Gives the place up before the transaction ends. An ERROR does the same.
void leave_line(const Identity &id);

// When lock_timeout ends this call's patience; kForever if it is not set.
Micros patience_from(Micros now);

// Raises 55P03 as lock_timeout does.
[[noreturn]] void lose_patience();

// What tells the entries of these lines from other advisory locks in the lock table.
inline constexpr std::uint16_t kLineClass = 0x1DB;

}  // namespace idem::records
