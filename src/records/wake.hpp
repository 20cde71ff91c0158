// Waking those who wait for a claim that another session gives back or settles. Without preload
// there is nothing to wake anybody with, and waiting sessions look again every few milliseconds.
//
// A wake-up is a hint: whoever is woken looks at the record. So it may come too often, but between
// announcing itself and sleeping a session must look once more, or it misses one.

#pragma once

#include <cstdint>

namespace idem::records {

// Reserves shared memory. Call it from _PG_init while the library is being preloaded.
void reserve_wake_ups();

// Whether this session will be woken for that line, from now until it withdraws or its transaction
// ends. False without preload, and when too many sessions are waiting already.
bool announce_wait(std::uint64_t line);
void withdraw_wait();

// Wakes the sessions that wait in the line, once this transaction has committed.
void wake_at_commit(std::uint64_t line);

}  // namespace idem::records
