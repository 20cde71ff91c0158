#include "streams/moves.hpp"

#include "server/prelude.hpp"

namespace idem::streams {

namespace {

// The row that the statement at this depth of triggers is deleting. A statement that a trigger runs
// while a row moves comes at a greater depth.
struct Deleted {
  FullTransactionId transaction;
  Oid table;
  ItemPointerData row;
  int times;  // as often as it is told, it is asked for: a table may have several streams
};
Deleted *deleted = nullptr;
int depths = 0;

int depth_of_triggers() {
  LOCAL_FCINFO(call, 0);
  InitFunctionCallInfoData(*call, nullptr, 0, InvalidOid, nullptr, nullptr);
  return DatumGetInt32(pg_trigger_depth(call));
}

void make_room(int depth) {
  if (depth < depths) return;
  const int wanted = depth + 8;
  const Size size = sizeof(Deleted) * static_cast<Size>(wanted);
  deleted = static_cast<Deleted *>(deleted == nullptr ? MemoryContextAlloc(TopMemoryContext, size)
                                                      : repalloc(deleted, size));
  for (int i = depths; i < wanted; i++) deleted[i].table = InvalidOid;
  depths = wanted;
}

// The server marks a row that goes on elsewhere.
bool has_moved(Relation relation, ItemPointerData row) {
  // TRUNCATE may have come in between.
  if (ItemPointerGetBlockNumber(&row) >= RelationGetNumberOfBlocks(relation)) return false;
  TupleTableSlot *slot = table_slot_create(relation, nullptr);
  bool moved = false;
  if (table_tuple_fetch_row_version(relation, &row, SnapshotAny, slot) &&
      TTS_IS_BUFFERTUPLE(slot)) {
    bool copied;
    const HeapTuple tuple = ExecFetchSlotHeapTuple(slot, false, &copied);
    moved = HeapTupleHeaderIndicatesMovedPartitions(tuple->t_data) &&
            TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(tuple->t_data));
  }
  ExecDropSingleTupleTableSlot(slot);
  return moved;
}

}  // namespace

void remember_deleted(Relation relation, const ItemPointerData &row) {
  const int depth = depth_of_triggers();
  make_room(depth);
  Deleted &last = deleted[depth];
  const FullTransactionId now = GetTopFullTransactionId();
  ItemPointerData same = row;
  const bool again = last.table == RelationGetRelid(relation) &&
                     FullTransactionIdEquals(last.transaction, now) &&
                     ItemPointerEquals(&last.row, &same);
  last = {now, RelationGetRelid(relation), row, again ? last.times + 1 : 1};
}

bool is_arriving() {
  const int depth = depth_of_triggers();
  if (depth >= depths || !OidIsValid(deleted[depth].table)) return false;
  const Deleted last = deleted[depth];
  if (last.times > 1)
    deleted[depth].times--;
  else
    deleted[depth].table = InvalidOid;
  if (!FullTransactionIdEquals(last.transaction, GetTopFullTransactionIdIfAny())) return false;
  Relation relation = try_relation_open(last.table, AccessShareLock);
  if (relation == nullptr) return false;
  const bool moved = has_moved(relation, last.row);
  relation_close(relation, AccessShareLock);
  return moved;
}

}  // namespace idem::streams
