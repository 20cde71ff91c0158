#include "records/wake.hpp"

#include "server/compat.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace idem::records {

namespace {

// One for each session that waits for a live claim at the head of a line. More than these poll.
constexpr std::uint32_t kPlaces = 256;

// Whoever sets `process` from 0 owns the place, and is the only one to write `line`.
struct Place {
  pg_atomic_uint32 process;  // the number of its PGPROC, plus 1; 0: free
  pg_atomic_uint64 line;
};

struct Waiting {
  pg_atomic_uint32 places_taken;  // at most this many, so that commits need not search in vain
  Place places[kPlaces];
};

Waiting *waiting = nullptr;
Place *own = nullptr;
shmem_startup_hook_type previous_startup = nullptr;

// The lines to be woken at commit. More than these wake everybody.
constexpr int kPending = 32;
std::uint64_t pending[kPending];
int pending_count = 0;

void start_shared_memory() {
  bool found;
  LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
  waiting = static_cast<Waiting *>(ShmemInitStruct("pg_idem waiting", sizeof(Waiting), &found));
  if (!found) {
    pg_atomic_init_u32(&waiting->places_taken, 0);
    for (Place &place : waiting->places) {
      pg_atomic_init_u32(&place.process, 0);
      pg_atomic_init_u64(&place.line, 0);
    }
  }
  LWLockRelease(AddinShmemInitLock);
}

void on_startup() {
  if (previous_startup != nullptr) previous_startup();
  server::outward(start_shared_memory);
}

bool take_place() {
  const std::uint32_t mine = static_cast<std::uint32_t>(server::own_process_number()) + 1;
  for (Place &place : waiting->places) {
    std::uint32_t free = 0;
    if (!pg_atomic_compare_exchange_u32(&place.process, &free, mine)) continue;
    own = &place;
    pg_atomic_fetch_add_u32(&waiting->places_taken, 1);
    return true;
  }
  return false;
}

bool is_pending(std::uint64_t line) {
  if (pending_count > kPending) return true;
  for (int i = 0; i < pending_count; i++)
    if (pending[i] == line) return true;
  return false;
}

// The place may change hands between the two reads; then somebody wakes for nothing.
void wake_pending() {
  // The commit must be visible to whoever is not seen waiting here.
  pg_memory_barrier();
  if (pg_atomic_read_u32(&waiting->places_taken) == 0) return;
  for (Place &place : waiting->places) {
    const std::uint32_t process = pg_atomic_read_u32(&place.process);
    if (process != 0 && is_pending(pg_atomic_read_u64(&place.line)))
      SetLatch(&ProcGlobal->allProcs[process - 1].procLatch);
  }
}

void at_end(XactEvent event, void *) {
  switch (event) {
    case XACT_EVENT_COMMIT:
      if (pending_count > 0) wake_pending();
      [[fallthrough]];
    case XACT_EVENT_ABORT:
    case XACT_EVENT_PREPARE:
      pending_count = 0;
      withdraw_wait();
      break;
    default:
      break;
  }
}

void watch_transactions() {
  static bool watching = false;
  if (watching) return;
  RegisterXactCallback(at_end, nullptr);
  watching = true;
}

}  // namespace

void reserve_wake_ups() {
  server::request_shared_memory(sizeof(Waiting));
  previous_startup = shmem_startup_hook;
  shmem_startup_hook = on_startup;
}

bool announce_wait(std::uint64_t line) {
  if (waiting == nullptr) return false;
  watch_transactions();
  if (own == nullptr && !take_place()) return false;
  pg_atomic_write_u64(&own->line, line);
  // The announcement must be visible before the caller's next look.
  pg_memory_barrier();
  return true;
}

void withdraw_wait() {
  if (own == nullptr) return;
  pg_atomic_write_u32(&own->process, 0);
  pg_atomic_fetch_sub_u32(&waiting->places_taken, 1);
  own = nullptr;
}

void wake_at_commit(std::uint64_t line) {
  if (waiting == nullptr || is_pending(line)) return;
  watch_transactions();
  if (pending_count < kPending) pending[pending_count] = line;
  pending_count++;
}

}  // namespace idem::records
