#include "streams/moves.hpp"

#include "server/prelude.hpp"

namespace idem::streams {

namespace {

// In the executor's memory for a row, which it empties before the next one. Statements that
// triggers run while a row moves have memory of their own, and do not touch this.
struct Deleted {
  MemoryContext memory;
  Oid table;  // none once the row has arrived, or will not
  ItemPointerData row;
  Oid target;           // where it arrives, once somebody has asked
  const Trigger *last;  // that asked there
  Deleted *next;
  MemoryContextCallback end;
};
Deleted *all_deleted = nullptr;

void forget(void *argument) {
  Deleted **place = &all_deleted;
  while (*place != argument) place = &(*place)->next;
  *place = (*place)->next;
}

Deleted *deleted_in(MemoryContext memory) {
  Deleted *deleted = all_deleted;
  while (deleted != nullptr && deleted->memory != memory) deleted = deleted->next;
  return deleted;
}

Deleted *remember_in(MemoryContext memory) {
  auto *deleted = static_cast<Deleted *>(MemoryContextAllocZero(memory, sizeof(Deleted)));
  deleted->memory = memory;
  deleted->next = all_deleted;
  all_deleted = deleted;
  deleted->end.func = forget;
  deleted->end.arg = deleted;
  MemoryContextRegisterResetCallback(memory, &deleted->end);
  return deleted;
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

bool has_moved(const Deleted &deleted) {
  Relation relation = try_relation_open(deleted.table, AccessShareLock);
  if (relation == nullptr) return false;
  const bool moved = has_moved(relation, deleted.row);
  relation_close(relation, AccessShareLock);
  return moved;
}

// The server fires triggers in the order of their names. So one that does not come after the last
// is asking for another row: WITH … UPDATE … RETURNING may feed an INSERT before it looks for the
// next row to move.
bool is_same_arrival(const Deleted &deleted, const TriggerData &trigger) {
  return deleted.target == RelationGetRelid(trigger.tg_relation) &&
         strcmp(deleted.last->tgname, trigger.tg_trigger->tgname) < 0;
}

}  // namespace

void remember_deleted(const TriggerData &trigger) {
  if (!trigger.tg_relation->rd_rel->relispartition) return;
  Deleted *deleted = deleted_in(CurrentMemoryContext);
  if (deleted == nullptr) deleted = remember_in(CurrentMemoryContext);
  deleted->table = RelationGetRelid(trigger.tg_relation);
  deleted->row = trigger.tg_trigtuple->t_self;
  deleted->last = nullptr;
}

bool is_arriving(const TriggerData &trigger) {
  Deleted *deleted = deleted_in(CurrentMemoryContext);
  if (deleted == nullptr || !OidIsValid(deleted->table)) return false;
  if (deleted->last == nullptr ? !has_moved(*deleted) : !is_same_arrival(*deleted, trigger)) {
    deleted->table = InvalidOid;
    return false;
  }
  deleted->target = RelationGetRelid(trigger.tg_relation);
  deleted->last = trigger.tg_trigger;
  return true;
}

}  // namespace idem::streams
