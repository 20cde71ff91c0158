#include "server/row_access.hpp"

#include "server/compat.hpp"
#include "server/prelude.hpp"

namespace idem::server {

namespace {

IndexScanDesc begin_scan(const Place &place, Relation index, const Key &key, Snapshot snapshot) {
  IndexScanDesc scan = begin_index_scan(place.heap, index, snapshot, key.count);
  ScanKeyData columns[2] = {key.columns[0], key.columns[1]};
  index_rescan(scan, columns, key.count, nullptr, 0);
  return scan;
}

// VACUUM may have cut the table off since; while we hold a lock on it, it will not.
bool is_in_table(const Place &place, const ItemPointerData &tid) {
  return ItemPointerGetBlockNumber(&tid) < RelationGetNumberOfBlocks(place.heap);
}

TupleTableSlot *form_slot(Relation heap, const Datum *values, const bool *nulls) {
  TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(heap), &TTSOpsHeapTuple);
  ExecStoreHeapTuple(heap_form_tuple(RelationGetDescr(heap), const_cast<Datum *>(values),
                                     const_cast<bool *>(nulls)),
                     slot, true);
  return slot;
}

Writer writer_of(Relation heap, TupleTableSlot *slot) {
  Writer writer;
  writer.state = CreateExecutorState();
  writer.relation = makeNode(ResultRelInfo);
  InitResultRelInfo(writer.relation, heap, 0, nullptr, 0);
  writer.slot = slot;
  return writer;
}

void end_writer(const Writer &writer) {
  if (writer.relation->ri_NumIndices > 0) ExecCloseIndices(writer.relation);
  FreeExecutorState(writer.state);
}

void add_index_entries(Relation heap, TupleTableSlot *slot, IndexWork work) {
  const Writer writer = writer_of(heap, slot);
  ExecOpenIndices(writer.relation, false);
  insert_index_entries(writer.relation, slot, writer.state, nullptr, NIL,
                       work == IndexWork::summarizing);
  end_writer(writer);
}

}  // namespace

Place open_place(Oid table) {
  Place place;
  place.heap = table_open(table, NoLock);
  place.slot = table_slot_create(place.heap, nullptr);
  return place;
}

void close_place(const Place &place) {
  ExecDropSingleTupleTableSlot(place.slot);
  table_close(place.heap, NoLock);
}

Met find_by_index(const Place &place, const Key &key, ItemPointer root, bool *entries) {
  SnapshotData dirty;
  InitDirtySnapshot(dirty);
  Relation index = index_open(key.index, AccessShareLock);
  IndexScanDesc scan = begin_scan(place, index, key, &dirty);
  Met met = Met::nothing;
  while (met != Met::row) {
    if (!scan->xs_heap_continue) {
      const ItemPointerData *entry = index_getnext_tid(scan, ForwardScanDirection);
      if (entry == nullptr) break;
      *root = *entry;
      *entries = true;
    }
    if (index_fetch_heap(scan, place.slot))
      met = TransactionIdIsValid(dirty.xmin) ? Met::uncommitted : Met::row;
  }
  index_endscan(scan);
  index_close(index, NoLock);
  return met;
}

bool find_by_root(const Place &place, ItemPointerData root) {
  if (!is_in_table(place, root)) return false;
  SnapshotData dirty;
  InitDirtySnapshot(dirty);
  IndexFetchTableData *fetch = table_index_fetch_begin(place.heap);
  bool more = false;
  bool found = false;
  do
    found = table_index_fetch_tuple(fetch, &root, &dirty, place.slot, &more, nullptr) &&
            !TransactionIdIsValid(dirty.xmin);
  while (!found && more);
  table_index_fetch_end(fetch);
  return found;
}

bool find_version(const Place &place, ItemPointerData tid) {
  if (!is_in_table(place, tid)) return false;
  SnapshotData dirty;
  InitDirtySnapshot(dirty);
  return table_tuple_fetch_row_version(place.heap, &tid, &dirty, place.slot) &&
         !TransactionIdIsValid(dirty.xmin);
}

bool find_in_snapshot(const Place &place, const Key &key, Snapshot snapshot) {
  Relation index = index_open(key.index, AccessShareLock);
  IndexScanDesc scan = begin_scan(place, index, key, snapshot);
  const bool found = index_getnext_slot(scan, ForwardScanDirection, place.slot);
  index_endscan(scan);
  index_close(index, NoLock);
  return found;
}

bool find_committed(const Place &place, const Key &key) {
  Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
  const bool found = find_in_snapshot(place, key, snapshot);
  UnregisterSnapshot(snapshot);
  return found;
}

bool in_transaction_snapshot(const Place &place) {
  ItemPointerData tid = place.slot->tts_tid;
  return table_tuple_fetch_row_version(place.heap, &tid, GetTransactionSnapshot(), place.slot);
}

Writer open_writer(Relation heap, const Datum *values, const bool *nulls) {
  return writer_of(heap, form_slot(heap, values, nulls));
}

void close_writer(const Writer &writer) {
  end_writer(writer);
  ExecDropSingleTupleTableSlot(writer.slot);
  // What was written must be visible to the statements that follow, as after any command.
  CommandCounterIncrement();
}

TM_Result lock_row(const Place &place, LockTupleMode mode, bool wait, uint8 flags) {
  TM_FailureData failure;
  ItemPointerData tid = place.slot->tts_tid;
  return table_tuple_lock(place.heap, &tid, SnapshotAny, place.slot, GetCurrentCommandId(true),
                          mode, wait ? LockWaitBlock : LockWaitSkip, flags, &failure);
}

TM_Result update_row(const Place &place, ItemPointerData tid, const Datum *values,
                     const bool *nulls, bool wait, Written *written) {
  CheckCmdReplicaIdentity(place.heap, CMD_UPDATE);
  TupleTableSlot *slot = form_slot(place.heap, values, nulls);
  IndexWork work = IndexWork::none;
  const TM_Result result = update_tuple(place.heap, &tid, slot, wait, &work);
  // Most versions need no entry, so that there is nothing to prepare for one.
  if (result == TM_Ok && work != IndexWork::none) add_index_entries(place.heap, slot, work);
  *written = {slot->tts_tid, work == IndexWork::all};
  ExecDropSingleTupleTableSlot(slot);
  // What was written must be visible to the statements that follow, as after any command.
  CommandCounterIncrement();
  return result;
}

}  // namespace idem::server
