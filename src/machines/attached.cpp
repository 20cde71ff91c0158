#include "machines/attached.hpp"

#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "tables/triggers.hpp"

namespace idem::machines {

namespace {

struct Search {
  const char *option;
  bool found;
};

// Arguments are stored one after the other, each with a NUL at its end.
void look_for_option(HeapTuple trigger, TupleDesc descriptor, void *argument) {
  auto *search = static_cast<Search *>(argument);
  bool isnull;
  const Datum stored = heap_getattr(trigger, Anum_pg_trigger_tgargs, descriptor, &isnull);
  if (isnull) return;
  const bytea *arguments = DatumGetByteaPP(stored);
  const char *at = VARDATA_ANY(arguments);
  const char *end = at + VARSIZE_ANY_EXHDR(arguments);
  for (; at < end; at += strlen(at) + 1)
    if (strcmp(at, search->option) == 0) search->found = true;
}

}  // namespace

List *attachments_of(Relation relation, Oid function) {
  List *found = NIL;
  const TriggerDesc *triggers = tables::triggers_on(relation);
  for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++) {
    if (!judges_changes(triggers->triggers[i], function)) continue;
    auto *attachment = static_cast<Attachment *>(palloc(sizeof(Attachment)));
    if (try_describe(relation, triggers->triggers[i], attachment))
      found = lappend(found, attachment);
  }
  return found;
}

bool is_label(Oid schema, const char *label) {
  Search search = {psprintf("%s%s", kOptionLabel, label), false};
  tables::visit_triggers(transition_check_in(schema), look_for_option, &search);
  return search.found;
}

List *all_attachments(Oid schema) {
  List *found = NIL;
  const Oid function = transition_check_in(schema);
  ListCell *cell;
  foreach (cell, tables::tables_with_trigger(function)) {
    Relation relation = try_relation_open(lfirst_oid(cell), AccessShareLock);
    if (relation == nullptr) continue;
    if (!relation->rd_rel->relispartition)
      found = list_concat(found, attachments_of(relation, function));
    relation_close(relation, AccessShareLock);
  }
  return found;
}

}  // namespace idem::machines
