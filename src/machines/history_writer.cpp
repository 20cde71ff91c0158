#include "machines/history_writer.hpp"

#include "machines/history_months.hpp"
#include "server/compat.hpp"
#include "server/inheritance.hpp"
#include "server/prelude.hpp"
#include "server/settings.hpp"

namespace idem::machines {

namespace {

// Enough to write many rows to a page at once.
constexpr int kBatch = 500;
constexpr AttrNumber kTimeColumn = 2;

// `ours` says which of our columns are never null.
bool has_our_columns(Relation partition, TupleDesc ours) {
  const TupleDesc theirs = RelationGetDescr(partition);
  const TupleConstr *constraints = theirs->constr;
  if (theirs->natts != ours->natts) return false;
  for (int i = 0; i < ours->natts; i++) {
    const Form_pg_attribute one = TupleDescAttr(theirs, i);
    const Form_pg_attribute other = TupleDescAttr(ours, i);
    if (one->attisdropped || one->atttypid != other->atttypid || one->attgenerated != '\0' ||
        (one->attnotnull && !other->attnotnull) ||
        strcmp(NameStr(one->attname), NameStr(other->attname)) != 0)
      return false;
  }
  return constraints == nullptr || constraints->num_check == 0;
}

bool is_plain(Relation partition, const HistoryRows &rows) {
  return partition->rd_rel->relkind == RELKIND_RELATION &&
         partition->rd_rel->relam == HEAP_TABLE_AM_OID && partition->rd_rel->relispartition &&
         partition->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT &&
         partition->trigdesc == nullptr && partition->rd_rules == nullptr &&
         has_our_columns(partition, rows.descriptor);
}

// A partition that is open for writing, with its indexes.
struct Target {
  EState *estate;
  ResultRelInfo *relation;
};

Target open_target(Relation partition) {
  Target target = {CreateExecutorState(), makeNode(ResultRelInfo)};
  InitResultRelInfo(target.relation, partition, 1, nullptr, 0);
  ExecOpenIndices(target.relation, false);
  return target;
}

void close_target(const Target &target) {
  ExecCloseIndices(target.relation);
  ExecResetTupleTable(target.estate->es_tupleTable, false);
  FreeExecutorState(target.estate);
}

// Whether the partition takes what is of this time, as its bounds have it.
bool takes(const Target &target, TimestampTz time) {
  const Relation partition = target.relation->ri_RelationDesc;
  TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(partition), &TTSOpsVirtual);
  (void)ExecStoreAllNullTuple(slot);
  slot->tts_values[kTimeColumn - 1] = TimestampTzGetDatum(time);
  slot->tts_isnull[kTimeColumn - 1] = false;
  const bool fits = ExecPartitionCheck(target.relation, slot, target.estate, false);
  ExecDropSingleTupleTableSlot(slot);
  return fits;
}

void insert_batch(const Target &target, TupleTableSlot **slots, int count, BulkInsertState state) {
  table_multi_insert(target.relation->ri_RelationDesc, slots, count, GetCurrentCommandId(true), 0,
                     state);
  for (int i = 0; i < count; i++) {
    server::insert_index_entries(target.relation, slots[i], target.estate, nullptr, NIL, false);
    ResetPerTupleExprContext(target.estate);
    (void)ExecClearTuple(slots[i]);
  }
}

void insert_all(const Target &target, const HistoryRows &rows) {
  TupleTableSlot *slots[kBatch];
  BulkInsertState state = GetBulkInsertState();
  MemoryContext batch =
      AllocSetContextCreate(CurrentMemoryContext, "pg_idem history batch", ALLOCSET_DEFAULT_SIZES);
  int made = 0;
  int filled = 0;
  for (bool more = true; more;) {
    if (filled == made)
      slots[made++] = MakeSingleTupleTableSlot(rows.descriptor, &TTSOpsMinimalTuple);
    more = tuplestore_gettupleslot(rows.rows, true, false, slots[filled]);
    if (more) filled++;
    if (filled < kBatch && more) continue;
    const MemoryContext caller = MemoryContextSwitchTo(batch);
    if (filled > 0) insert_batch(target, slots, filled, state);
    MemoryContextSwitchTo(caller);
    MemoryContextReset(batch);
    filled = 0;
  }
  for (int i = 0; i < made; i++) ExecDropSingleTupleTableSlot(slots[i]);
  MemoryContextDelete(batch);
  FreeBulkInsertState(state);
}

bool write_to(Relation partition, const HistoryRows &rows) {
  if (!is_plain(partition, rows)) return false;
  const Target target = open_target(partition);
  const bool fits = takes(target, rows.first) && takes(target, rows.last);
  if (fits) insert_all(target, rows);
  close_target(target);
  return fits;
}

}  // namespace

bool write_directly(const HistoryRows &rows) {
  if (!server::settings.direct_access) return false;
  const Oid table = get_relname_relid(kHistory.name, rows.home.schema);
  const Oid partition = server::partition_for(kHistory, rows.home, rows.first);
  if (!OidIsValid(table) || !OidIsValid(partition)) return false;
  // In the order in which a statement locks them.
  LockRelationOid(table, RowExclusiveLock);
  Relation opened = try_relation_open(partition, RowExclusiveLock);
  if (opened == nullptr) return false;
  const bool written =
      list_member_oid(server::parents_of(partition), table) && write_to(opened, rows);
  relation_close(opened, NoLock);
  // What follows in this transaction is to see it.
  if (written) CommandCounterIncrement();
  return written;
}

}  // namespace idem::machines
