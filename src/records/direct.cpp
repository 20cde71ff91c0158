#include "records/direct.hpp"

#include "records/positions.hpp"
#include "server/compat.hpp"
#include "server/prelude.hpp"
#include "server/row_access.hpp"

namespace idem::records {

namespace {

using server::Place;
using server::Writer;

Record read_slot(const Place &place, const RecordsTable &table) {
  HeapTuple copy = ExecCopySlotHeapTuple(place.slot);
  return read_record(copy, RelationGetDescr(place.heap), table.columns,
                     HeapTupleHeaderGetXmin(copy->t_data));
}

server::Key key_of(const RecordsTable &table, const Identity &id) {
  server::Key key;
  key.index = table.primary_key;
  key.count = 2;
  ScanKeyInit(&key.columns[0], 1, BTEqualStrategyNumber, F_TEXTEQ, PointerGetDatum(id.key));
  ScanKeyInit(&key.columns[1], 2, BTEqualStrategyNumber, F_TEXTEQ, PointerGetDatum(id.scope));
  key.columns[0].sk_collation = key.columns[1].sk_collation = C_COLLATION_OID;
  return key;
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

Presence find_by_index(const Place &place, const RecordsTable &table, const Identity &id,
                       bool *met) {
  ItemPointerData root;
  switch (server::find_by_index(place, key_of(table, id), &root, met)) {
    case server::Met::nothing:
      return Presence::absent;
    case server::Met::uncommitted:
      return Presence::uncommitted;
    case server::Met::row:
      break;
  }
  remember_position(table.records, id, root);
  return Presence::present;
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
  return server::find_by_root(place, tid) && holds(place, table, Column::key, id.key) &&
         holds(place, table, Column::scope, id.scope);
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
  return server::find_committed(place, key_of(table, id)) ? Presence::present : presence;
}

// Leaves the row of a present record in the place's slot.
Sighting look_at(const Place &place, const RecordsTable &table, const Identity &id,
                 Absence absence) {
  Sighting sighting;
  sighting.presence = find(place, table, id, absence);
  if (sighting.presence != Presence::present) return sighting;
  sighting.record = read_slot(place, table);
  if (bound_by_snapshot(table) && !sighting.record.state.written_here &&
      !server::in_transaction_snapshot(place))
    refuse_changed_record();
  return sighting;
}

// In the order of the table's columns.
void arrange(const RecordsTable &table, const Record &record, Datum *values, bool *nulls) {
  for (int i = 0; i < kColumns; i++) {
    values[table.columns[i] - 1] = record.values[i];
    nulls[table.columns[i] - 1] = record.nulls[i];
  }
}

Writer open_writer(Relation heap, const RecordsTable &table, const Record &record) {
  Datum values[kColumns];
  bool nulls[kColumns];
  arrange(table, record, values, nulls);
  return server::open_writer(heap, values, nulls);
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

// A share counts for a version that an open transaction is making of the row as well: otherwise it
// would end with the commit of a heartbeat. Whoever wants the row for a claim must not keep that
// version from its owner when it turns out to be somebody's.
TM_Result lock_version(const Place &place, LockTupleMode mode, Blocking blocking) {
  return server::lock_row(place, mode, blocking == Blocking::as_needed,
                          mode == LockTupleKeyShare ? TUPLE_LOCK_FLAG_LOCK_UPDATE_IN_PROGRESS : 0);
}

// Writes the record over the version at `tid`.
TM_Result update_version(const Place &place, const ItemPointerData &tid, const RecordsTable &table,
                         const Record &record, Blocking blocking) {
  Datum values[kColumns];
  bool nulls[kColumns];
  server::Written written;
  arrange(table, record, values, nulls);
  return server::update_row(place, tid, values, nulls, blocking == Blocking::as_needed, &written);
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
  const ItemPointerData tid = place.slot->tts_tid;
  if (!manner.alone)
    return outcome_of(update_version(place, tid, table, record, manner.blocking), table);
  // Once the row is this transaction's alone, nothing is left to wait for but its own lock.
  TM_Result result = lock_version(place, LockTupleExclusive, manner.blocking);
  if (result == TM_Ok) result = update_version(place, tid, table, record, Blocking::as_needed);
  return outcome_of(result, table);
}

}  // namespace

Sighting look_directly(const RecordsTable &table, const Identity &id, Absence absence) {
  const Place place = server::open_place(table.records);
  const Sighting sighting = look_at(place, table, id, absence);
  server::close_place(place);
  return sighting;
}

Sighting look_directly_in_snapshot(const RecordsTable &table, const Identity &id) {
  Sighting sighting;
  sighting.presence = Presence::absent;
  const Place place = server::open_place(table.records);
  if (server::find_in_snapshot(place, key_of(table, id), GetActiveSnapshot())) {
    sighting.presence = Presence::present;
    sighting.record = read_slot(place, table);
  }
  server::close_place(place);
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
  server::close_writer(writer);
  table_close(heap, NoLock);
  return inserted;
}

Written rewrite_directly(const RecordsTable &table, const Identity &id, const Manner &manner,
                         bool (*change)(Record &, void *), void *argument) {
  const Place place = server::open_place(table.records);
  Sighting sighting = look_at(place, table, id, Absence::certain);
  Written written = Written::no;
  if (sighting.presence == Presence::present && change(sighting.record, argument))
    written = write_back(place, table, sighting.record, manner);
  server::close_place(place);
  return written;
}

bool share_directly(const RecordsTable &table, const Identity &id, std::int64_t token) {
  const Place place = server::open_place(table.records);
  Sighting sighting = look_at(place, table, id, Absence::certain);
  bool shared = false;
  if (sighting.presence == Presence::present &&
      decide_release(&sighting.record.state, token) == TokenStep::allow) {
    shared = outcome_of(lock_version(place, LockTupleKeyShare, Blocking::as_needed), table) ==
             Written::yes;
  }
  server::close_place(place);
  return shared;
}

}  // namespace idem::records
