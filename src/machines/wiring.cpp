#include "machines/wiring.hpp"

#include "server/names.hpp"
#include "server/prelude.hpp"
#include "tables/triggers.hpp"

namespace idem::machines {

namespace {

constexpr const char *kCheck = "idem_transition_check";
constexpr const char *kPin = "idem_pin_version";

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
    append_argument(&arguments,
                    psprintf("%s%s=%s%s", kOptionGuard, wish.guard[i].transition,
                             wish.guard[i].function, wish.guard[i].rows == 2 ? kTwoRows : ""));
  return arguments.data;
}

// Names every column once, in the order of their roles: by these names the server follows renames,
// and the trigger finds them.
const char *condition(const Wish &wish, const char *separator,
                      const char *(*term)(const char *column, const char *cast)) {
  const char *columns[] = {wish.column, wish.row_machine, wish.row_version};
  // The server finds no equality for a domain over an enumeration.
  const char *cast = psprintf("::%s", format_type_be_qualified(wish.type));
  StringInfoData text;
  initStringInfo(&text);
  for (const char *column : columns)
    if (column != nullptr)
      appendStringInfo(&text, "%s%s", text.len == 0 ? "" : separator,
                       term(quote_identifier(column), column == wish.column ? cast : ""));
  return text.data;
}

const char *changed(const char *column, const char *cast) {
  return psprintf("OLD.%s%s IS DISTINCT FROM NEW.%s%s", column, cast, column, cast);
}

const char *named_in_new(const char *column, const char *) {
  return psprintf("NEW.%s IS NULL", column);
}

const char *named_in_old(const char *column, const char *) {
  return psprintf("OLD.%s IS NULL", column);
}

struct TriggerSql {
  const char *suffix;
  const char *events;  // such as AFTER INSERT
  const char *level;   // ROW or STATEMENT
  const char *when;    // or null
  const char *function;
};

// AFTER a row is stored we come before triggers of users, so that what these do in turn comes
// later; BEFORE it we come last, to see what they made of the row.
const char *name_for(Oid table, const char *column, const TriggerSql &trigger) {
  const char *prefix = strncmp(trigger.events, "BEFORE", 6) == 0 ? "zz_idem" : "_idem";
  return tables::free_trigger_name(table, prefix, column, trigger.suffix);
}

void make(Oid table, const Wish &wish, const TriggerSql &trigger) {
  const char *name = quote_identifier(name_for(table, wish.column, trigger));
  const char *table_name = server::qualified_name(table);
  const char *schema = quote_identifier(get_namespace_name(wish.schema));
  tables::execute_definition(
      psprintf("CREATE TRIGGER %s %s ON %s FOR EACH %s%s EXECUTE FUNCTION %s.%s(%s)", name,
               trigger.events, table_name, trigger.level,
               trigger.when == nullptr ? "" : psprintf(" WHEN (%s)", trigger.when), schema,
               trigger.function, arguments_of(wish)));
  if (wish.always)
    tables::execute_definition(
        psprintf("ALTER TABLE %s ENABLE ALWAYS TRIGGER %s", table_name, name));
}

// Statement triggers are not inherited, and writes to a partition fire its own only.
void make_history_triggers(Oid table, const Wish &wish) {
  ListCell *cell;
  foreach (cell, tables::table_and_partitions(table))
    make(lfirst_oid(cell), wish,
         {"history", "AFTER INSERT OR UPDATE", "STATEMENT", nullptr, kCheck});
}

// Names first: dropping one changes what is looked at.
List *triggers_of(Oid table, Oid schema, const char *label, bool statement_only) {
  List *names = NIL;
  const char *option = psprintf("%s%s", kOptionLabel, label);
  Relation relation = table_open(table, NoLock);
  const TriggerDesc *triggers = tables::triggers_on(relation);
  for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++) {
    const Trigger &trigger = triggers->triggers[i];
    if (statement_only && TRIGGER_FOR_ROW(trigger.tgtype)) continue;
    if (get_func_namespace(trigger.tgfoid) != schema || !has_option(trigger, option)) continue;
    names = lappend(names, pstrdup(trigger.tgname));
  }
  table_close(relation, NoLock);
  return names;
}

// Of statement triggers of ours.
List *labels_of(Oid table, Oid schema) {
  List *labels = NIL;
  Relation relation = table_open(table, NoLock);
  const TriggerDesc *triggers = tables::triggers_on(relation);
  for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++) {
    const Trigger &trigger = triggers->triggers[i];
    if (TRIGGER_FOR_ROW(trigger.tgtype) || get_func_namespace(trigger.tgfoid) != schema) continue;
    for (int option = 2; option < trigger.tgnargs; option++)
      if (strncmp(trigger.tgargs[option], kOptionLabel, strlen(kOptionLabel)) == 0)
        labels = lappend(labels, pstrdup(trigger.tgargs[option] + strlen(kOptionLabel)));
  }
  table_close(relation, NoLock);
  return labels;
}

}  // namespace

void make_triggers(Oid table, const Wish &wish) {
  make(table, wish,
       {"birth", "AFTER INSERT", "ROW",
        psprintf("true OR %s", condition(wish, " OR ", named_in_new)), kCheck});
  make(table, wish, {"change", "AFTER UPDATE", "ROW", condition(wish, " OR ", changed), kCheck});
  if (get_rel_relkind(table) == RELKIND_PARTITIONED_TABLE)
    make(table, wish,
         {"move", "AFTER DELETE", "ROW",
          psprintf("true OR %s", condition(wish, " OR ", named_in_old)), kCheck});
  if (wish.row_version != nullptr)
    make(table, wish,
         {"version", "BEFORE INSERT", "ROW",
          psprintf("(false AND (%s)) OR NEW.%s IS NULL", condition(wish, " OR ", named_in_new),
                   quote_identifier(wish.row_version)),
          kPin});
  if (wish.history) make_history_triggers(table, wish);
}

void drop_orphans(Oid table, Oid schema) {
  ListCell *cell;
  foreach (cell, labels_of(table, schema)) {
    const auto *label = static_cast<const char *>(lfirst(cell));
    const int statement = list_length(triggers_of(table, schema, label, true));
    if (list_length(triggers_of(table, schema, label, false)) == statement)
      drop_triggers(table, schema, label);
  }
}

void drop_triggers(Oid table, Oid schema, const char *label) {
  ListCell *cell;
  foreach (cell, tables::table_and_partitions(table)) {
    const Oid one = lfirst_oid(cell);
    ListCell *name;
    foreach (name, triggers_of(one, schema, label, one != table))
      tables::execute_definition(psprintf("DROP TRIGGER %s ON %s",
                                          quote_identifier(static_cast<const char *>(lfirst(name))),
                                          server::qualified_name(one)));
  }
}

}  // namespace idem::machines
