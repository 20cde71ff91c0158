#include "machines/wiring.hpp"

#include "server/inheritance.hpp"
#include "server/names.hpp"
#include "server/prelude.hpp"

namespace idem::machines {

namespace {

constexpr const char *kCheck = "idem_transition_check";
constexpr const char *kPin = "idem_pin_version";

// Operators in a WHEN clause are those of the server, whatever the caller's search_path.
void execute(const char *sql) {
  const int level = NewGUCNestLevel();
  (void)set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
                          GUC_ACTION_SAVE, true, 0, false);
  SPI_connect();
  const int code = SPI_execute(sql, false, 0);
  if (code < 0) elog(ERROR, "\"%s\" failed: %s", sql, SPI_result_code_string(code));
  SPI_finish();
  AtEOXact_GUC(false, level);
}

void append_argument(StringInfo arguments, const char *argument) {
  appendStringInfo(arguments, "%s%s", arguments->len == 0 ? "" : ", ",
                   quote_literal_cstr(argument));
}

const char *arguments_of(const Wish &wish) {
  StringInfoData arguments;
  initStringInfo(&arguments);
  append_argument(&arguments, wish.machine == nullptr ? "" : wish.machine);
  append_argument(&arguments, "");
  if (wish.history) append_argument(&arguments, kOptionHistory);
  if (wish.allow_null) append_argument(&arguments, kOptionAllowNull);
  if (wish.row_machine != nullptr) append_argument(&arguments, kOptionRowMachine);
  if (wish.row_version != nullptr) append_argument(&arguments, kOptionRowVersion);
  append_argument(&arguments, psprintf("%s%s", kOptionLabel, wish.label));
  for (int i = 0; i < wish.guards; i++)
    append_argument(&arguments, psprintf("%s%s=%s", kOptionGuard, wish.guard[i].transition,
                                         wish.guard[i].function));
  return arguments.data;
}

// Names every column once, in the order of their roles: by these names the server follows renames,
// and the trigger finds them.
const char *condition(const Wish &wish, const char *separator,
                      const char *(*term)(const char *column)) {
  const char *columns[] = {wish.column, wish.row_machine, wish.row_version};
  StringInfoData text;
  initStringInfo(&text);
  for (const char *column : columns)
    if (column != nullptr)
      appendStringInfo(&text, "%s%s", text.len == 0 ? "" : separator,
                       term(quote_identifier(column)));
  return text.data;
}

const char *changed(const char *column) {
  return psprintf("OLD.%s IS DISTINCT FROM NEW.%s", column, column);
}

const char *named_in_new(const char *column) {
  return psprintf("NEW.%s IS NULL", column);
}

const char *named_in_old(const char *column) {
  return psprintf("OLD.%s IS NULL", column);
}

struct TriggerSql {
  const char *suffix;
  const char *events;  // such as AFTER INSERT
  const char *level;   // ROW or STATEMENT
  const char *when;    // or null
  const char *function;
};

bool is_taken(Relation relation, const char *name) {
  ListCell *cell;
  foreach (cell, server::descendants_of(RelationGetRelid(relation)))
    if (OidIsValid(get_trigger_oid(lfirst_oid(cell), name, true))) return true;
  return false;
}

// Sorts before names of users' triggers, so that what these do in turn comes later. Triggers of a
// column that has been renamed keep its former name.
const char *free_name(Relation relation, const char *column, const char *suffix) {
  const char *name = makeObjectName("_idem", column, suffix);
  for (int number = 2; is_taken(relation, name); number++)
    name = makeObjectName("_idem", column, psprintf("%s%d", suffix, number));
  return name;
}

void make(Relation relation, const Wish &wish, const TriggerSql &trigger) {
  const char *name = quote_identifier(free_name(relation, wish.column, trigger.suffix));
  const char *table = server::qualified_name(RelationGetRelid(relation));
  const char *schema = quote_identifier(get_namespace_name(wish.schema));
  execute(psprintf("CREATE TRIGGER %s %s ON %s FOR EACH %s%s EXECUTE FUNCTION %s.%s(%s)", name,
                   trigger.events, table, trigger.level,
                   trigger.when == nullptr ? "" : psprintf(" WHEN (%s)", trigger.when), schema,
                   trigger.function, arguments_of(wish)));
  if (wish.always) execute(psprintf("ALTER TABLE %s ENABLE ALWAYS TRIGGER %s", table, name));
}

// Statement triggers are not inherited, and writes to a partition fire its own only.
void make_history_triggers(Relation relation, const Wish &wish) {
  ListCell *cell;
  foreach (cell, server::descendants_of(RelationGetRelid(relation))) {
    Relation one = table_open(lfirst_oid(cell), ShareRowExclusiveLock);
    if (one->rd_rel->relispartition || RelationGetRelid(one) == RelationGetRelid(relation))
      make(one, wish, {"history", "AFTER INSERT OR UPDATE", "STATEMENT", nullptr, kCheck});
    table_close(one, NoLock);
  }
}

// The names first: dropping one changes what is looked at.
List *triggers_of(Relation relation, Oid schema, const char *label, bool statement_only) {
  List *names = NIL;
  const char *argument = psprintf("%s%s", kOptionLabel, label);
  const TriggerDesc *triggers = relation->trigdesc;
  for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++) {
    const Trigger &trigger = triggers->triggers[i];
    if (statement_only && TRIGGER_FOR_ROW(trigger.tgtype)) continue;
    if (get_func_namespace(trigger.tgfoid) != schema || !has_option(trigger, argument)) continue;
    names = lappend(names, pstrdup(trigger.tgname));
  }
  return names;
}

}  // namespace

void make_triggers(Relation relation, const Wish &wish) {
  make(relation, wish,
       {"birth", "AFTER INSERT", "ROW",
        psprintf("true OR %s", condition(wish, " OR ", named_in_new)), kCheck});
  make(relation, wish, {"change", "AFTER UPDATE", "ROW", condition(wish, " OR ", changed), kCheck});
  if (relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
    make(relation, wish,
         {"move", "AFTER DELETE", "ROW",
          psprintf("true OR %s", condition(wish, " OR ", named_in_old)), kCheck});
  if (wish.row_version != nullptr)
    make(relation, wish,
         {"version", "BEFORE INSERT", "ROW",
          psprintf("(false AND (%s)) OR NEW.%s IS NULL", condition(wish, " OR ", named_in_new),
                   quote_identifier(wish.row_version)),
          kPin});
  if (wish.history) make_history_triggers(relation, wish);
}

void drop_orphans(Relation relation, Oid schema) {
  const TriggerDesc *triggers = relation->trigdesc;
  List *labels = NIL;
  for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++) {
    const Trigger &trigger = triggers->triggers[i];
    if (TRIGGER_FOR_ROW(trigger.tgtype) || get_func_namespace(trigger.tgfoid) != schema) continue;
    for (int option = 2; option < trigger.tgnargs; option++)
      if (strncmp(trigger.tgargs[option], kOptionLabel, strlen(kOptionLabel)) == 0)
        labels = lappend(labels, pstrdup(trigger.tgargs[option] + strlen(kOptionLabel)));
  }
  ListCell *cell;
  foreach (cell, labels) {
    const auto *label = static_cast<const char *>(lfirst(cell));
    if (list_length(triggers_of(relation, schema, label, false)) ==
        list_length(triggers_of(relation, schema, label, true)))
      drop_triggers(relation, schema, label);
  }
}

void drop_triggers(Relation relation, Oid schema, const char *label) {
  ListCell *cell;
  foreach (cell, server::descendants_of(RelationGetRelid(relation))) {
    Relation one = table_open(lfirst_oid(cell), ShareRowExclusiveLock);
    const bool itself = RelationGetRelid(one) == RelationGetRelid(relation);
    List *names =
        itself || one->rd_rel->relispartition ? triggers_of(one, schema, label, !itself) : NIL;
    ListCell *name;
    foreach (name, names)
      execute(psprintf("DROP TRIGGER %s ON %s",
                       quote_identifier(static_cast<const char *>(lfirst(name))),
                       server::qualified_name(RelationGetRelid(one))));
    table_close(one, NoLock);
  }
}

}  // namespace idem::machines
