#include "records/positions.hpp"

#include <type_traits>

#include "server/compat.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "server/settings.hpp"

namespace idem::records {

namespace {

// One place for each hash; the later of two keys that share it wins. The two halves may be of
// different writers, which is just another wrong hint.
struct Position {
  pg_atomic_uint64 hash;
  pg_atomic_uint64 tid;  // block and offset; 0 when nothing was ever stored
};
static_assert(std::is_trivially_copyable_v<Position>);

struct Positions {
  Position *places;
  std::uint64_t count;
};

constexpr std::uint64_t kOwnPositions = 1024;
Position own_places[kOwnPositions];
Positions shared = {nullptr, 0};
shmem_startup_hook_type previous_startup = nullptr;

Positions positions() {
  return shared.places != nullptr ? shared : Positions{own_places, kOwnPositions};
}

Size shared_size() {
  return static_cast<Size>(server::settings.position_cache_size) * 1024;
}

void start_shared_memory() {
  bool found;
  LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
  auto *places =
      static_cast<Position *>(ShmemInitStruct("pg_idem positions", shared_size(), &found));
  shared = {places, shared_size() / sizeof(Position)};
  for (std::uint64_t i = 0; !found && i < shared.count; i++) {
    pg_atomic_init_u64(&places[i].hash, 0);
    pg_atomic_init_u64(&places[i].tid, 0);
  }
  LWLockRelease(AddinShmemInitLock);
}

void on_startup() {
  if (previous_startup != nullptr) previous_startup();
  server::outward(start_shared_memory);
}

// A table's OID says nothing outside its database.
std::uint64_t hash_in(Oid table, const Identity &id) {
  return hash_of(id, (static_cast<std::uint64_t>(MyDatabaseId) << 32) | table);
}

}  // namespace

void reserve_shared_positions() {
  if (shared_size() < sizeof(Position)) return;
  server::request_shared_memory(shared_size());
  previous_startup = shmem_startup_hook;
  shmem_startup_hook = on_startup;
}

void remember_position(Oid table, const Identity &id, const ItemPointerData &tid) {
  const Positions all = positions();
  const std::uint64_t hash = hash_in(table, id);
  Position &position = all.places[hash % all.count];
  const std::uint64_t block = ItemPointerGetBlockNumber(&tid);
  pg_atomic_write_u64(&position.hash, hash);
  pg_atomic_write_u64(&position.tid, (block << 16) | ItemPointerGetOffsetNumber(&tid));
}

bool recall_position(Oid table, const Identity &id, ItemPointer tid) {
  const Positions all = positions();
  const std::uint64_t hash = hash_in(table, id);
  Position &position = all.places[hash % all.count];
  const std::uint64_t packed = pg_atomic_read_u64(&position.tid);
  if (packed == 0 || pg_atomic_read_u64(&position.hash) != hash) return false;
  ItemPointerSet(tid, static_cast<BlockNumber>(packed >> 16),
                 static_cast<OffsetNumber>(packed & 0xFFFF));
  return true;
}

}  // namespace idem::records
