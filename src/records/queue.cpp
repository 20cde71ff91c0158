#include "records/queue.hpp"

#include <algorithm>

#include "server/advisory.hpp"
#include "server/lock_owner.hpp"
#include "server/prelude.hpp"
#include "server/statement.hpp"

namespace idem::records {

namespace {

LOCKTAG tag_of(const Identity &id) {
  return server::advisory_tag(line_of(id), kLineClass);
}

bool take_place(const LOCKTAG &tag, bool dont_wait) {
  LockAcquireResult result = LOCKACQUIRE_NOT_AVAIL;
  server::with_transaction_as_owner(
      [&] { result = LockAcquire(&tag, ExclusiveLock, false, dont_wait); });
  return result != LOCKACQUIRE_NOT_AVAIL;
}

bool wait_for_place(void *tag) {
  return take_place(*static_cast<const LOCKTAG *>(tag), false);
}

}  // namespace

std::uint64_t line_of(const Identity &id) {
  return hash_of(id, 0);
}

bool try_line(const Identity &id) {
  return take_place(tag_of(id), true);
}

bool enter_line(const Identity &id, Micros deadline) {
  LOCKTAG tag = tag_of(id);
  return take_place(tag, true) || server::run_until(deadline, false, wait_for_place, &tag);
}

void leave_line(const Identity &id) {
  const LOCKTAG tag = tag_of(id);
  server::with_transaction_as_owner([&] { (void)LockRelease(&tag, ExclusiveLock, false); });
}

Micros patience_from(Micros now) {
  if (LockTimeout <= 0) return kForever;
  return now + static_cast<Micros>(LockTimeout) * 1000;
}

void lose_patience() {
  ereport(ERROR,
          (errcode(ERRCODE_LOCK_NOT_AVAILABLE), errmsg("canceling statement due to lock timeout")));
  pg_unreachable();
}

}  // namespace idem::records
