#include "locks/registry.hpp"

#include <algorithm>
#include <type_traits>

#include "locks/settings.hpp"
#include "server/compat.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace idem::locks {

namespace {

constexpr const char *kTranche = "pg_idem locks";
constexpr const char *kTable = "pg_idem lock names";

struct State {
  std::uint64_t last_serial;
};
static_assert(std::is_trivially_copyable_v<State>);
static_assert(std::is_trivially_copyable_v<Registered>);
// dynahash finds the key at the start of the entry.
static_assert(offsetof(Registered, name) == 0);

State *state = nullptr;
HTAB *table = nullptr;
LWLock *lock = nullptr;
shmem_startup_hook_type previous_startup = nullptr;

void start_shared_memory() {
  const long limit = settings.max_session_locks;
  HASHCTL control = {};
  control.keysize = sizeof(LockName);
  control.entrysize = sizeof(Registered);
  bool found;
  LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
  state = static_cast<State *>(ShmemInitStruct(kTranche, sizeof(State), &found));
  if (!found) state->last_serial = 0;
  table = ShmemInitHash(kTable, limit, limit, &control, HASH_ELEM | HASH_BLOBS | HASH_FIXED_SIZE);
  lock = &GetNamedLWLockTranche(kTranche)->lock;
  LWLockRelease(AddinShmemInitLock);
}

void on_startup() {
  if (previous_startup != nullptr) previous_startup();
  server::outward(start_shared_memory);
}

Registered *find(const LockName &name) {
  return static_cast<Registered *>(hash_search(table, &name, HASH_FIND, nullptr));
}

// The table may have room for a few more than were asked for; the limit is what was promised.
Registered *enter(const LockName &name) {
  if (hash_get_num_entries(table) >= settings.max_session_locks) return nullptr;
  auto *entry = static_cast<Registered *>(hash_search(table, &name, HASH_ENTER_NULL, nullptr));
  if (entry == nullptr) return nullptr;
  entry->serial = ++state->last_serial;
  entry->references = 0;
  entry->holder = {};
  return entry;
}

}  // namespace

void reserve_registry() {
  server::request_shared_memory(add_size(
      MAXALIGN(sizeof(State)), hash_estimate_size(settings.max_session_locks, sizeof(Registered))));
  server::request_lock(kTranche);
  previous_startup = shmem_startup_hook;
  shmem_startup_hook = on_startup;
}

bool registry_available() {
  return table != nullptr;
}

bool refer(const LockName &name, std::uint64_t *serial) {
  LWLockAcquire(lock, LW_EXCLUSIVE);
  Registered *entry = find(name);
  if (entry == nullptr) entry = enter(name);
  if (entry != nullptr) {
    entry->references++;
    *serial = entry->serial;
  }
  LWLockRelease(lock);
  return entry != nullptr;
}

void stop_referring(const LockName &name) {
  LWLockAcquire(lock, LW_EXCLUSIVE);
  Registered *entry = find(name);
  if (entry != nullptr) {
    if (entry->holder.pid == MyProcPid) entry->holder = {};
    if (--entry->references == 0) (void)hash_search(table, &name, HASH_REMOVE, nullptr);
  }
  LWLockRelease(lock);
}

void note_holder(const LockName &name, const Holder &holder) {
  LWLockAcquire(lock, LW_EXCLUSIVE);
  Registered *entry = find(name);
  if (entry != nullptr) entry->holder = holder;
  LWLockRelease(lock);
}

bool holder_of(const LockName &name, Holder *holder) {
  LWLockAcquire(lock, LW_SHARED);
  const Registered *entry = find(name);
  const bool known = entry != nullptr && entry->holder.pid != 0;
  if (known) *holder = entry->holder;
  LWLockRelease(lock);
  return known;
}

RegisteredNames registered_names() {
  LWLockAcquire(lock, LW_SHARED);
  // An ERROR for want of memory releases the lock.
  auto *names = static_cast<Registered *>(palloc_extended(
      static_cast<Size>(hash_get_num_entries(table)) * sizeof(Registered), MCXT_ALLOC_HUGE));
  int count = 0;
  HASH_SEQ_STATUS scan;
  hash_seq_init(&scan, table);
  while (const auto *entry = static_cast<const Registered *>(hash_seq_search(&scan)))
    if (entry->name.database == MyDatabaseId) names[count++] = *entry;
  LWLockRelease(lock);
  std::sort(names, names + count,
            [](const Registered &a, const Registered &b) { return a.serial < b.serial; });
  return {names, count};
}

}  // namespace idem::locks
