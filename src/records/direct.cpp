#include "records/direct.hpp"

#include "records/positions.hpp"
#include "server/compat.hpp"
#include "server/prelude.hpp"

namespace idem::records {

namespace {

// The table, and a slot that holds the row that a look found for as long as the place is open.
struct Place {
  Relation heap;
  TupleTableSlot *slot;
};

Place open_place(const RecordsTable &table) {
  Place place;
  place.heap = table_open(table.records, NoLock);
  place.slot = table_slot_create(place.heap, nullptr);
  return place;
}

void close_place(const Place &place) {
  ExecDropSingleTupleTableSlot(place.slot);
  table_close(place.heap, NoLock);
}

Record read_slot(const Place &place, const RecordsTable &table) {
  HeapTuple copy = ExecCopySlotHeapTuple(place.slot);
  return read_record(copy, RelationGetDescr(place.heap), table.columns,
                     HeapTupleHeaderGetXmin(copy->t_data));
}

IndexScanDesc begin_scan(Relation heap, Relation index, const Identity &id, Snapshot snapshot) {
  IndexScanDesc scan = server::begin_index_scan(heap, index, snapshot, 2);
  ScanKeyData keys[2];
  ScanKeyInit(&keys[0], 1, BTEqualStrategyNumber, F_TEXTEQ, PointerGetDatum(id.key));
  ScanKeyInit(&keys[1], 2, BTEqualStrategyNumber, F_TEXTEQ, PointerGetDatum(id.scope));
  keys[0].sk_collation = keys[1].sk_collation = C_COLLATION_OID;
  index_rescan(scan, keys, 2, nullptr, 0);
  return scan;
}

bool bound_by_snapshot(const RecordsTable &table) {
  return IsolationUsesXactSnapshot() && !table.home.newest;
}

[[noreturn]] void refuse_changed_record() {
  ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                  errmsg("could not serialize access: the idempotency record changed after this "
                         "transaction's snapshot"),
                  errhint("Retry the transaction.")));
  pg_unreachable();
}

// Also registers the read with the serializable machinery.
void require_in_transaction_snapshot(const Place &place) {
  ItemPointerData tid = place.slot->tts_tid;
  if (!table_tuple_fetch_row_version(place.heap, &tid, GetTransactionSnapshot(), place.slot))
    refuse_changed_record();
}

// Looks through the index. A record that an open transaction is changing is reported as it was
// committed; of one that is being inserted nothing is reported but that. The versions of a record
// that is being moved are met one after the other. If the move is committed in between, none may be
// found present: the new one was not there yet, or not committed, and the old one is dead.
Presence find_by_index(const Place &place, const RecordsTable &table, const Identity &id,
                       bool *met) {
  SnapshotData dirty;
  InitDirtySnapshot(dirty);
  Relation index = index_open(table.primary_key, AccessShareLock);
  IndexScanDesc scan = begin_scan(place.heap, index, id, &dirty);
  Presence presence = Presence::absent;
  ItemPointerData root;
  while (presence != Presence::present) {
    if (!scan->xs_heap_continue) {
      const ItemPointerData *entry = index_getnext_tid(scan, ForwardScanDirection);
      if (entry == nullptr) break;
      root = *entry;
      *met = true;
    }
    if (index_fetch_heap(scan, place.slot))
      presence = TransactionIdIsValid(dirty.xmin) ? Presence::uncommitted : Presence::present;
  }
  if (presence == Presence::present) remember_position(table.records, id, root);
  index_endscan(scan);
  index_close(index, NoLock);
  return presence;
}

bool find_in_snapshot(const Place &place, const RecordsTable &table, const Identity &id,
                      Snapshot snapshot) {
  Relation index = index_open(table.primary_key, AccessShareLock);
  IndexScanDesc scan = begin_scan(place.heap, index, id, snapshot);
  const bool found = index_getnext_slot(scan, ForwardScanDirection, place.slot);
  index_endscan(scan);
  index_close(index, NoLock);
  return found;
}

bool holds(const Place &place, const RecordsTable &table, Column column, const text *wanted) {
  bool isnull;
  const Datum value = slot_getattr(place.slot, table.columns[static_cast<int>(column)], &isnull);
  const text *found = DatumGetTextPP(value);
  const Size length = VARSIZE_ANY_EXHDR(wanted);
  return VARSIZE_ANY_EXHDR(found) == length &&
         memcmp(VARDATA_ANY(found), VARDATA_ANY(wanted), length) == 0;
}

// Looks where the record was met before; false when it is not there, committed, now. The key is
// unique, so what is found there is what the index would lead to.
bool find_by_position(const Place &place, const RecordsTable &table, const Identity &id) {
  ItemPointerData tid;
  if (!recall_position(table.records, id, &tid)) return false;
  // VACUUM may have cut the table off since; while we hold a lock on it, it will not.
  if (ItemPointerGetBlockNumber(&tid) >= RelationGetNumberOfBlocks(place.heap)) return false;
  SnapshotData dirty;
  InitDirtySnapshot(dirty);
  IndexFetchTableData *fetch = table_index_fetch_begin(place.heap);
  bool more = false;
  bool found = false;
  do
    found = table_index_fetch_tuple(fetch, &tid, &dirty, place.slot, &more, nullptr) &&
            !TransactionIdIsValid(dirty.xmin);
  while (!found && more);
  table_index_fetch_end(fetch);
  return found && holds(place, table, Column::key, id.key) &&
         holds(place, table, Column::scope, id.scope);
}

// A snapshot shows exactly one version of every row, so this misses no record.
bool find_committed(const Place &place, const RecordsTable &table, const Identity &id) {
  Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
  const bool found = find_in_snapshot(place, table, id, snapshot);
  UnregisterSnapshot(snapshot);
  return found;
}

// For those who are not bound by a snapshot: reading through one would make a SERIALIZABLE
// transaction fail for what it read here. A record that is moved needs one more look for each move;
// without an index entry there is none.
Presence find_once_more(const Place &place, const RecordsTable &table, const Identity &id,
                        Presence presence, bool met) {
  constexpr int kLooks = 4;
  for (int look = 0; look < kLooks && met && presence != Presence::present; look++)
    presence = find_by_index(place, table, id, &met);
  return presence;
}

Presence find(const Place &place, const RecordsTable &table, const Identity &id, Absence absence) {
  if (find_by_position(place, table, id)) return Presence::present;
  bool met = false;
  const Presence presence = find_by_index(place, table, id, &met);
  const bool doubtful = presence == Presence::uncommitted ||
                        (presence == Presence::absent && absence == Absence::certain);
  if (!doubtful) return presence;
  if (table.home.newest) return find_once_more(place, table, id, presence, met);
  return find_committed(place, table, id) ? Presence::present : presence;
}

// Leaves the row of a present record in the place's slot.
Sighting look_at(const Place &place, const RecordsTable &table, const Identity &id,
                 Absence absence) {
  Sighting sighting;
  sighting.presence = find(place, table, id, absence);
  if (sighting.presence != Presence::present) return sighting;
  sighting.record = read_slot(place, table);
  if (bound_by_snapshot(table) && !sighting.record.state.written_here)
    require_in_transaction_snapshot(place);
  return sighting;
}

// A row to be written, and what the executor's index routines need around it.
struct Writer {
  EState *state;
  ResultRelInfo *relation;
  TupleTableSlot *slot;
};

Writer open_writer(Relation heap, const RecordsTable &table, const Record &record) {
  Writer writer;
  writer.state = CreateExecutorState();
  writer.relation = makeNode(ResultRelInfo);
  InitResultRelInfo(writer.relation, heap, 0, nullptr, 0);
  writer.slot = MakeSingleTupleTableSlot(RelationGetDescr(heap), &TTSOpsHeapTuple);
  Datum values[kColumns];
  bool nulls[kColumns];
  for (int i = 0; i < kColumns; i++) {
    values[table.columns[i] - 1] = record.values[i];
    nulls[table.columns[i] - 1] = record.nulls[i];
  }
  ExecStoreHeapTuple(heap_form_tuple(RelationGetDescr(heap), values, nulls), writer.slot, true);
  return writer;
}

void close_writer(const Writer &writer) {
  if (writer.relation->ri_NumIndices > 0) ExecCloseIndices(writer.relation);
  ExecDropSingleTupleTableSlot(writer.slot);
  FreeExecutorState(writer.state);
  // What was written must be visible to the statements that follow, as after any command.
  CommandCounterIncrement();
}

// Returns whether the row is in; when not, somebody else's conflicting entry came first and ours is
// gone.
bool insert_speculatively(Relation heap, const Writer &writer, List *arbiters) {
  const uint32 token = SpeculativeInsertionLockAcquire(GetCurrentTransactionId());
  table_tuple_insert_speculative(heap, writer.slot, GetCurrentCommandId(true), 0, nullptr, token);
  bool conflict = false;
  server::insert_index_entries(writer.relation, writer.slot, writer.state, &conflict, arbiters,
                               false);
  table_tuple_complete_speculative(heap, writer.slot, token, !conflict);
  SpeculativeInsertionLockRelease(GetCurrentTransactionId());
  return !conflict;
}

// Locks the row for this transaction. A share counts for a version that an open transaction is
// making of it as well: otherwise it would end with the commit of a heartbeat. Whoever wants the row
// for a claim must not keep that version from its owner when it turns out to be somebody's.
TM_Result lock_version(const Place &place, ItemPointer tid, LockTupleMode mode, Blocking blocking) {
  TM_FailureData failure;
  const uint8 flags = mode == LockTupleKeyShare ? TUPLE_LOCK_FLAG_LOCK_UPDATE_IN_PROGRESS : 0;
  return table_tuple_lock(place.heap, tid, SnapshotAny, place.slot, GetCurrentCommandId(true), mode,
                          blocking == Blocking::never ? LockWaitSkip : LockWaitBlock, flags,
                          &failure);
}

// Writes the record over the version at `tid`.
TM_Result update_version(const Place &place, ItemPointer tid, const RecordsTable &table,
                         const Record &record, Blocking blocking) {
  CheckCmdReplicaIdentity(place.heap, CMD_UPDATE);
  const Writer writer = open_writer(place.heap, table, record);
  server::IndexWork work = server::IndexWork::none;
  const TM_Result result =
      server::update_tuple(place.heap, tid, writer.slot, blocking == Blocking::as_needed, &work);
  if (result == TM_Ok && work != server::IndexWork::none) {
    ExecOpenIndices(writer.relation, false);
    server::insert_index_entries(writer.relation, writer.slot, writer.state, nullptr, NIL,
                                 work == server::IndexWork::summarizing);
  }
  close_writer(writer);
  return result;
}

Written outcome_of(TM_Result result, const RecordsTable &table) {
  switch (result) {
    case TM_Ok:
      return Written::yes;
    case TM_BeingModified:
    case TM_WouldBlock:
      return Written::busy;
    case TM_Updated:
    case TM_Deleted:
      if (bound_by_snapshot(table)) refuse_changed_record();
      return Written::no;
    default:
      elog(ERROR, "unexpected result %d of changing an idempotency record", result);
  }
  pg_unreachable();
}

Written write_back(const Place &place, const RecordsTable &table, const Record &record,
                   const Manner &manner) {
  ItemPointerData tid = place.slot->tts_tid;
  if (!manner.alone)
    return outcome_of(update_version(place, &tid, table, record, manner.blocking), table);
  // Once the row is this transaction's alone, nothing is left to wait for but its own lock.
  TM_Result result = lock_version(place, &tid, LockTupleExclusive, manner.blocking);
  if (result == TM_Ok) result = update_version(place, &tid, table, record, Blocking::as_needed);
  return outcome_of(result, table);
}

}  // namespace

Sighting look_directly(const RecordsTable &table, const Identity &id, Absence absence) {
  const Place place = open_place(table);
  const Sighting sighting = look_at(place, table, id, absence);
  close_place(place);
  return sighting;
}

Sighting look_directly_in_snapshot(const RecordsTable &table, const Identity &id) {
  Sighting sighting;
  sighting.presence = Presence::absent;
  const Place place = open_place(table);
  if (find_in_snapshot(place, table, id, GetActiveSnapshot())) {
    sighting.presence = Presence::present;
    sighting.record = read_slot(place, table);
  }
  close_place(place);
  return sighting;
}

bool insert_directly(const RecordsTable &table, const Identity &id, const Grant &grant,
                     bool competitor) {
  Relation heap = table_open(table.records, NoLock);
  const Writer writer = open_writer(heap, table, record_of(id, grant));
  ExecOpenIndices(writer.relation, true);
  List *arbiters = list_make1_oid(table.primary_key);
  const bool inserted = (!competitor || server::no_index_conflict(writer.relation, writer.slot,
                                                                  writer.state, arbiters)) &&
                        insert_speculatively(heap, writer, arbiters);
  if (inserted) remember_position(table.records, id, writer.slot->tts_tid);
  close_writer(writer);
  table_close(heap, NoLock);
  return inserted;
}

Written rewrite_directly(const RecordsTable &table, const Identity &id, const Manner &manner,
                         bool (*change)(Record &, void *), void *argument) {
  const Place place = open_place(table);
  Sighting sighting = look_at(place, table, id, Absence::certain);
  Written written = Written::no;
  if (sighting.presence == Presence::present && change(sighting.record, argument))
    written = write_back(place, table, sighting.record, manner);
  close_place(place);
  return written;
}

bool share_directly(const RecordsTable &table, const Identity &id, std::int64_t token) {
  const Place place = open_place(table);
  Sighting sighting = look_at(place, table, id, Absence::certain);
  bool shared = false;
  if (sighting.presence == Presence::present &&
      decide_release(&sighting.record.state, token) == TokenStep::allow) {
    ItemPointerData tid = place.slot->tts_tid;
    shared = outcome_of(lock_version(place, &tid, LockTupleKeyShare, Blocking::as_needed), table) ==
             Written::yes;
  }
  close_place(place);
  return shared;
}

}  // namespace idem::records
