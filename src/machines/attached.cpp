#include "machines/attached.hpp"

#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace idem::machines {

namespace {

// Of tables that have a trigger of ours which is not a copy of their parent's.
List *tables_with(Oid function) {
  List *tables = NIL;
  Relation catalog = table_open(TriggerRelationId, AccessShareLock);
  SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, nullptr, 0, nullptr);
  for (HeapTuple tuple; HeapTupleIsValid(tuple = systable_getnext(scan));) {
    const auto *form = reinterpret_cast<Form_pg_trigger>(GETSTRUCT(tuple));
    if (form->tgfoid == function) tables = list_append_unique_oid(tables, form->tgrelid);
  }
  systable_endscan(scan);
  table_close(catalog, AccessShareLock);
  return tables;
}

List *attachments_of(Relation relation, Oid function, List *found) {
  const TriggerDesc *triggers = relation->trigdesc;
  for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++) {
    if (!judges_changes(triggers->triggers[i], function)) continue;
    auto *attachment = static_cast<Attachment *>(palloc(sizeof(Attachment)));
    if (try_describe(relation, triggers->triggers[i], attachment))
      found = lappend(found, attachment);
  }
  return found;
}

}  // namespace

List *all_attachments(Oid schema) {
  List *found = NIL;
  const Oid function = transition_check_in(schema);
  ListCell *cell;
  foreach (cell, tables_with(function)) {
    Relation relation = try_relation_open(lfirst_oid(cell), AccessShareLock);
    if (relation == nullptr) continue;
    if (!relation->rd_rel->relispartition) found = attachments_of(relation, function, found);
    relation_close(relation, AccessShareLock);
  }
  return found;
}

}  // namespace idem::machines
