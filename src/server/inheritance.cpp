#include "server/inheritance.hpp"

#include "server/compat.hpp"
#include "server/prelude.hpp"

namespace idem::server {

namespace {

// The other side of the entries that have `relation` in `column`.
List *relatives(Oid relation, AttrNumber column, Oid index) {
  List *found = NIL;
  Relation catalog = table_open(InheritsRelationId, AccessShareLock);
  ScanKeyData key;
  ScanKeyInit(&key, column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation));
  SysScanDesc scan = systable_beginscan(catalog, index, true, nullptr, 1, &key);
  for (HeapTuple tuple; HeapTupleIsValid(tuple = systable_getnext(scan));) {
    const auto form = reinterpret_cast<Form_pg_inherits>(GETSTRUCT(tuple));
    if (!counts_as_child(form)) continue;
    found =
        lappend_oid(found, column == Anum_pg_inherits_inhrelid ? form->inhparent : form->inhrelid);
  }
  systable_endscan(scan);
  table_close(catalog, AccessShareLock);
  return found;
}

List *children_of(Oid relation) {
  return relatives(relation, Anum_pg_inherits_inhparent, InheritsParentIndexId);
}

// A generation at a time and each relation once: with multiple inheritance there can be more ways
// to a table than tables.
List *all_from(Oid relation, List *(*next)(Oid)) {
  List *found = list_make1_oid(relation);
  for (int i = 0; i < list_length(found); i++) {
    CHECK_FOR_INTERRUPTS();
    found = list_concat_unique_oid(found, next(list_nth_oid(found, i)));
  }
  return found;
}

}  // namespace

List *parents_of(Oid relation) {
  return relatives(relation, Anum_pg_inherits_inhrelid, InheritsRelidSeqnoIndexId);
}

List *descendants_of(Oid relation) {
  return all_from(relation, children_of);
}

List *ancestors_of(Oid relation) {
  return all_from(relation, parents_of);
}

bool descends_from(Oid relation, Oid ancestor) {
  return list_member_oid(ancestors_of(relation), ancestor);
}

}  // namespace idem::server
