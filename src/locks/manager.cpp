#include "locks/manager.hpp"

#include "server/compat.hpp"
#include "server/lock_owner.hpp"
#include "server/prelude.hpp"

namespace idem::locks {

bool holds(const LOCKTAG &tag, Kind kind) {
  return server::holds_lock(&tag, mode_of(kind));
}

bool holds_any(const LOCKTAG &tag) {
  return holds(tag, Kind::session) || holds(tag, Kind::transaction);
}

std::int64_t acquire(const LOCKTAG &tag, Kind kind, bool dont_wait) {
  // Whoever has the lock gets it again without waiting, even if others queue for it; but up to 16
  // the server does not know that when it is told not to wait.
  const bool no_wait = dont_wait && !holds_any(tag);
  LOCALLOCK *local = nullptr;
  LockAcquireResult result = LOCKACQUIRE_NOT_AVAIL;
  server::with_transaction_as_owner(
      [&] { result = server::acquire_lock(&tag, mode_of(kind), false, no_wait, &local); });
  // A lock_timeout that was over at the moment of the grant is reported at the next opportunity,
  // which must not come when the lock is the session's.
  CHECK_FOR_INTERRUPTS();
  return result == LOCKACQUIRE_NOT_AVAIL ? 0 : local->nLocks;
}

void keep_for_session(const LOCKTAG &tag) {
  const LOCKMODE mode = mode_of(Kind::session);
  (void)LockAcquire(&tag, mode, true, false);
  server::with_transaction_as_owner([&tag, mode] { (void)LockRelease(&tag, mode, false); });
}

std::int64_t release_from_session(const LOCKTAG &tag) {
  const LOCKMODE mode = mode_of(Kind::session);
  // The lock manager tells the number of holds only to those who ask for one more.
  LOCALLOCK *local = nullptr;
  (void)server::acquire_lock(&tag, mode, true, false, &local);
  const std::int64_t left = local->nLocks - 2;
  (void)LockRelease(&tag, mode, true);
  (void)LockRelease(&tag, mode, true);
  return left;
}

}  // namespace idem::locks
