#include "tables/triggers.hpp"

#include "server/inheritance.hpp"
#include "server/prelude.hpp"
#include "server/statement.hpp"

namespace idem::tables {

namespace {

bool is_taken(Oid table, const char *name) {
  ListCell *cell;
  foreach (cell, server::descendants_of(table))
    if (OidIsValid(get_trigger_oid(lfirst_oid(cell), name, true))) return true;
  return false;
}

void add_table(HeapTuple trigger, TupleDesc, void *argument) {
  auto **tables = static_cast<List **>(argument);
  *tables = list_append_unique_oid(*tables,
                                   reinterpret_cast<Form_pg_trigger>(GETSTRUCT(trigger))->tgrelid);
}

}  // namespace

const TriggerDesc *triggers_on(Relation relation) {
  return relation->trigdesc == nullptr ? nullptr : CopyTriggerDesc(relation->trigdesc);
}

List *columns_in_when(const Trigger &trigger) {
  List *columns = NIL;
  if (trigger.tgqual == nullptr) return NIL;
  Node *condition = static_cast<Node *>(stringToNode(trigger.tgqual));
  ListCell *cell;
  foreach (cell, pull_var_clause(condition, 0)) {
    const auto *variable = static_cast<Var *>(lfirst(cell));
    // Whole rows and system columns are none of ours.
    if (variable->varattno > 0) columns = list_append_unique_int(columns, variable->varattno);
  }
  return columns;
}

Oid trigger_function_in(Oid schema, const char *name) {
  const Oid function =
      GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(name),
                      PointerGetDatum(buildoidvector(nullptr, 0)), ObjectIdGetDatum(schema));
  if (!OidIsValid(function))
    ereport(ERROR,
            (errcode(ERRCODE_UNDEFINED_FUNCTION), errmsg("function %s() does not exist", name),
             errhint("It belongs to the extension pg_idem: re-create the extension.")));
  return function;
}

void visit_triggers(Oid function, TriggerVisitor visitor, void *argument) {
  Relation catalog = table_open(TriggerRelationId, AccessShareLock);
  SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, nullptr, 0, nullptr);
  for (HeapTuple tuple; HeapTupleIsValid(tuple = systable_getnext(scan));)
    if (reinterpret_cast<Form_pg_trigger>(GETSTRUCT(tuple))->tgfoid == function)
      visitor(tuple, RelationGetDescr(catalog), argument);
  systable_endscan(scan);
  table_close(catalog, AccessShareLock);
}

List *tables_with_trigger(Oid function) {
  List *tables = NIL;
  visit_triggers(function, add_table, &tables);
  return tables;
}

List *table_and_partitions(Oid table) {
  List *found = list_make1_oid(table);
  ListCell *cell;
  foreach (cell, server::descendants_of(table)) {
    const Oid one = lfirst_oid(cell);
    if (one != table && get_rel_relispartition(one)) {
      LockRelationOid(one, ShareRowExclusiveLock);
      found = lappend_oid(found, one);
    }
  }
  return found;
}

const char *free_trigger_name(Oid table, const char *prefix, const char *column,
                              const char *suffix) {
  const char *name = makeObjectName(prefix, column, suffix);
  for (int number = 2; is_taken(table, name); number++)
    name = makeObjectName(prefix, column, psprintf("%s%d", suffix, number));
  return name;
}

void execute_definition(const char *sql) {
  const int level = NewGUCNestLevel();
  (void)set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
                          GUC_ACTION_SAVE, true, 0, false);
  server::execute_for_caller(sql);
  AtEOXact_GUC(false, level);
}

void refuse_use(const char *problem, const char *hint) {
  ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED), errmsg("%s", problem),
                  errhint("%s", hint)));
  pg_unreachable();
}

}  // namespace idem::tables
