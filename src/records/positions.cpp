#include "records/positions.hpp"

#include "server/prelude.hpp"

namespace idem::records {

namespace {

constexpr std::size_t kPositions = 1024;

// One place for each hash; the later of two keys that share it wins.
struct Position {
  std::uint64_t hash;
  ItemPointerData tid;
};

Position positions[kPositions];
Oid positions_of = InvalidOid;

}  // namespace

void remember_position(Oid table, const Identity &id, const ItemPointerData &tid) {
  if (positions_of != table) {
    memset(positions, 0, sizeof(positions));
    positions_of = table;
  }
  const std::uint64_t hash = hash_of(id);
  positions[hash % kPositions] = {hash, tid};
}

bool recall_position(Oid table, const Identity &id, ItemPointer tid) {
  const std::uint64_t hash = hash_of(id);
  const Position &position = positions[hash % kPositions];
  if (positions_of != table || position.hash != hash || !ItemPointerIsValid(&position.tid))
    return false;
  *tid = position.tid;
  return true;
}

}  // namespace idem::records
