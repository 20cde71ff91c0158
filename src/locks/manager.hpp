// Session and transaction locks as the server's lock manager has them. It queues who waits, finds
// deadlocks, and lets go of a lock when its transaction or session ends; it also is the only one
// that is asked who holds what.

#pragma once

#include <cstdint>

#include "server/prelude.hpp"

namespace idem::locks {

enum class Kind : std::uint8_t { session, transaction };

// Their classes among advisory locks.
inline constexpr std::uint16_t kHashedClass = 0x1DC;      // by a hash of the name
inline constexpr std::uint16_t kRegisteredClass = 0x1DD;  // by the name's serial number

// The two kinds have modes of their own, both of which exclude everybody else: so the lock manager
// can tell which of them a session holds, whatever happened behind our back (ROLLBACK TO,
// pg_advisory_unlock_all).
constexpr LOCKMODE mode_of(Kind kind) {
  return kind == Kind::session ? ExclusiveLock : AccessExclusiveLock;
}

bool holds(const LOCKTAG &tag, Kind kind);
bool holds_any(const LOCKTAG &tag);

// Takes the lock for the transaction and returns how often this session or transaction, as `kind`
// says, now has it; 0 when others have it or queue for it and `dont_wait` is set. Raises what a
// lock wait raises. For the time being also a lock of the session belongs to the transaction, so
// that an ERROR leaves nothing behind, not even one that comes at the moment of the grant.
std::int64_t acquire(const LOCKTAG &tag, Kind kind, bool dont_wait);

// Hands a lock of kind session that was just acquired over to the session.
void keep_for_session(const LOCKTAG &tag);

// Gives one hold of the session back, which it must have, and returns how many are left.
std::int64_t release_from_session(const LOCKTAG &tag);

}  // namespace idem::locks
