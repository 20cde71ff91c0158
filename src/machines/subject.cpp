#include "machines/subject.hpp"

#include "server/prelude.hpp"

namespace idem::machines {

namespace {

TupleTableSlot *slot_for(Relation relation, HeapTupleHeader row) {
  HeapTupleData tuple = {};
  tuple.t_len = HeapTupleHeaderGetDatumLength(row);
  ItemPointerSetInvalid(&tuple.t_self);
  tuple.t_data = row;
  // Without a pin on the descriptor, which nobody would give back after an error of the user's.
  TupleTableSlot *slot =
      MakeSingleTupleTableSlot(CreateTupleDescCopy(RelationGetDescr(relation)), &TTSOpsHeapTuple);
  (void)ExecStoreHeapTuple(heap_copytuple(&tuple), slot, false);
  return slot;
}

[[noreturn]] void refuse_missing(Relation relation) {
  ereport(ERROR,
          (errcode(ERRCODE_NO_DATA_FOUND),
           errmsg("table \"%s\" has no row with this key", RelationGetRelationName(relation)),
           errhint("It may have been deleted, not be committed yet, or be hidden by a "
                   "policy.")));
  pg_unreachable();
}

}  // namespace

Relation table_of_row(Relation relation, AttrNumber status, Jsonb *key, LOCKMODE mode) {
  if (relation->rd_rel->relkind != RELKIND_RELATION || !relation->rd_rel->relhassubclass)
    return relation;
  const tables::KeyCondition condition = tables::read_key(relation, status, key);
  SPI_connect();
  const tables::FoundRow found = tables::find_row(relation, condition, false);
  if (found.row == nullptr) refuse_missing(relation);
  SPI_finish();
  if (found.table == RelationGetRelid(relation)) return relation;
  return relation_open(found.table, mode);
}

Subject find_subject(Relation relation, const Attachment *attachment,
                     const tables::KeyCondition &key, bool lock) {
  Subject subject = {};
  const MemoryContext caller = CurrentMemoryContext;
  subject.relation = relation;
  subject.sitting.attachment = attachment;
  subject.sitting.context = caller;
  subject.sitting.guards =
      static_cast<GuardFunction **>(palloc0((attachment->guards + 1) * sizeof(void *)));
  SPI_connect();
  const tables::FoundRow found = tables::find_row(relation, key, lock);
  if (found.row == nullptr) refuse_missing(relation);
  const MemoryContext inner = MemoryContextSwitchTo(caller);
  subject.slot = slot_for(relation, found.row);
  MemoryContextSwitchTo(inner);
  subject.address = found.address;
  subject.table = found.table;
  SPI_finish();
  subject.edition = edition_of_row(subject.sitting, subject.slot, InvalidCommandId);
  subject.position = position_of(subject.sitting, subject.edition, subject.slot);
  return subject;
}

}  // namespace idem::machines
