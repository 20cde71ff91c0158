// idem_stream_attach, idem_stream_detach and what idem_stream_attachments shows.

#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/names.hpp"
#include "server/prelude.hpp"
#include "server/rows.hpp"
#include "streams/attachment.hpp"
#include "streams/limits.hpp"
#include "streams/stream.hpp"
#include "tables/arguments.hpp"
#include "tables/triggers.hpp"

namespace {

using idem::server::errcode_of;
using idem::streams::Attachment;

constexpr int kRel = 0, kStream = 1, kMessage = 2, kProducer = 3;

// What idem_stream_attach() was asked for, checked.
struct Wish {
  Oid schema;  // of the extension
  const text *stream;
  int columns;  // one with the message id, or three
  const char *column[3];
};

Oid accept_row_in(Oid schema) {
  return idem::tables::trigger_function_in(schema, idem::streams::kAcceptRow);
}

// In the order of their roles: by these names the server follows renames, and the trigger finds
// them. It folds the condition to a constant.
const char *condition(const Wish &wish) {
  StringInfoData text;
  initStringInfo(&text);
  for (int i = 0; i < wish.columns; i++)
    appendStringInfo(&text, "NEW.%s IS NULL OR ", quote_identifier(wish.column[i]));
  appendStringInfoString(&text, "true");
  return text.data;
}

// After triggers of users, which may give the row its id, and before those that judge what is going
// to be stored.
void make(Oid table, const Wish &wish, const char *suffix, const char *events, const char *level,
          const char *when) {
  const char *name = idem::tables::free_trigger_name(table, "zy_idem", wish.column[0], suffix);
  idem::tables::execute_definition(
      psprintf("CREATE TRIGGER %s %s ON %s FOR EACH %s%s EXECUTE FUNCTION %s.%s(%s)",
               quote_identifier(name), events, idem::server::qualified_name(table), level,
               when == nullptr ? "" : psprintf(" WHEN (%s)", when),
               quote_identifier(get_namespace_name(wish.schema)), idem::streams::kAcceptRow,
               quote_literal_cstr(text_to_cstring(wish.stream))));
}

void make_triggers(Oid table, const Wish &wish) {
  make(table, wish, "accept", "BEFORE INSERT", "ROW", condition(wish));
  if (get_rel_relkind(table) == RELKIND_PARTITIONED_TABLE)
    make(table, wish, "move", "BEFORE DELETE", "ROW", nullptr);
  if (wish.columns == 1) return;
  // Statement triggers are not inherited, and writes to a partition fire its own only.
  ListCell *cell;
  foreach (cell, idem::tables::table_and_partitions(table))
    make(lfirst_oid(cell), wish, "end", "AFTER INSERT", "STATEMENT", nullptr);
}

// Names first: dropping one changes what is looked at.
List *triggers_of(Relation relation, Oid function) {
  List *names = NIL;
  const TriggerDesc *triggers = idem::tables::triggers_on(relation);
  // Those for rows of a partition are copies, which go with the table's.
  const bool copies = relation->rd_rel->relispartition;
  for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++) {
    const Trigger &trigger = triggers->triggers[i];
    if (trigger.tgfoid == function && !(copies && TRIGGER_FOR_ROW(trigger.tgtype)))
      names = lappend(names, pstrdup(trigger.tgname));
  }
  return names;
}

// The table is locked and not open.
void drop_triggers(Oid table, Oid function) {
  ListCell *cell;
  foreach (cell, idem::tables::table_and_partitions(table)) {
    const Oid one = lfirst_oid(cell);
    Relation relation = table_open(one, NoLock);
    List *names = triggers_of(relation, function);
    table_close(relation, NoLock);
    ListCell *name;
    foreach (name, names)
      idem::tables::execute_definition(psprintf(
          "DROP TRIGGER %s ON %s", quote_identifier(static_cast<const char *>(lfirst(name))),
          idem::server::qualified_name(one)));
  }
}

// Two that decide would take every row for a repeated one, and nobody knows what else is in a
// trigger of the user.
void require_made_here(Relation relation, Oid function) {
  const TriggerDesc *triggers = relation->trigdesc;
  for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++) {
    const Trigger &trigger = triggers->triggers[i];
    if (trigger.tgfoid != function || trigger.tgnargs == 1) continue;
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("rows of table \"%s\" are accepted by a trigger of your own",
                    RelationGetRelationName(relation)),
             errdetail("It is \"%s\".", trigger.tgname), errhint("Drop it with DROP TRIGGER.")));
  }
}

[[noreturn]] void refuse_columns() {
  ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kBadArgument)),
                  errmsg("the columns of either an id or a number must be named"),
                  errhint("Pass either msg_id, or all of producer_id, epoch and seq.")));
  pg_unreachable();
}

void read_columns(FunctionCallInfo fcinfo, Wish *wish) {
  const bool by_id = !PG_ARGISNULL(kMessage);
  const int first = by_id ? kMessage : kProducer;
  wish->columns = by_id ? 1 : 3;
  for (int i = kMessage; i < kProducer + 3; i++) {
    const bool wanted = i >= first && i < first + wish->columns;
    if (PG_ARGISNULL(i) == wanted) refuse_columns();
    if (wanted) wish->column[i - first] = idem::tables::column_argument(fcinfo, i);
  }
  for (int i = 1; i < wish->columns; i++)
    for (int j = 0; j < i; j++)
      if (strcmp(wish->column[i], wish->column[j]) == 0) refuse_columns();
}

Wish read_wish(FunctionCallInfo fcinfo) {
  Wish wish = {};
  wish.schema = get_func_namespace(fcinfo->flinfo->fn_oid);
  wish.stream =
      idem::server::required_text(fcinfo, kStream, "stream", idem::streams::kMaxStreamBytes);
  read_columns(fcinfo, &wish);
  return wish;
}

// Dropping triggers locks readers out too. Taken at once: whoever asks for more of a lock than he
// has may meet somebody who does the same.
LOCKMODE lock_needed(FunctionCallInfo fcinfo, Oid function) {
  Relation relation = idem::tables::open_owned_table(fcinfo, kRel, AccessShareLock);
  const bool replaces = triggers_of(relation, function) != NIL;
  relation_close(relation, AccessShareLock);
  return replaces ? AccessExclusiveLock : ShareRowExclusiveLock;
}

NullableDatum column_datum(const Attachment &attachment, bool by_producer, int place) {
  if (attachment.by_producer != by_producer) return {Datum{0}, true};
  auto *name = static_cast<NameData *>(palloc(sizeof(NameData)));
  namestrcpy(name, get_attname(attachment.relation, attachment.column[place], false));
  return {NameGetDatum(name), false};
}

void show(const idem::server::Rows &rows, const Attachment &attachment) {
  const NullableDatum columns[] = {{ObjectIdGetDatum(attachment.relation), false},
                                   {PointerGetDatum(attachment.stream), false},
                                   column_datum(attachment, false, 0),
                                   column_datum(attachment, true, 0),
                                   column_datum(attachment, true, 1),
                                   column_datum(attachment, true, 2)};
  Datum values[lengthof(columns)];
  bool nulls[lengthof(columns)];
  for (std::size_t i = 0; i < lengthof(columns); i++) {
    values[i] = columns[i].value;
    nulls[i] = columns[i].isnull;
  }
  rows.add(values, nulls);
}

// Partitions have what their table has.
void show_table(const idem::server::Rows &rows, Relation relation, Oid function) {
  const TriggerDesc *triggers = idem::tables::triggers_on(relation);
  Attachment attachment;
  for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++)
    if (idem::streams::accepts_rows(triggers->triggers[i], function) &&
        !relation->rd_rel->relispartition &&
        idem::streams::try_read_attachment(relation, triggers->triggers[i], &attachment))
      show(rows, attachment);
}

}  // namespace

IDEM_FUNCTION(idem_stream_attach) {
  idem::server::require_writable("idem_stream_attach()");
  const Wish wish = read_wish(fcinfo);
  (void)idem::streams::stream_settings(idem::streams::stream_tables(fcinfo, AccessShareLock),
                                       wish.stream);
  const Oid function = accept_row_in(wish.schema);
  const LOCKMODE mode = lock_needed(fcinfo, function);
  Relation relation = idem::tables::open_owned_table(fcinfo, kRel, mode);
  const Oid table = RelationGetRelid(relation);
  idem::tables::require_attachable(relation, "a stream");
  require_made_here(relation, function);
  for (int i = 0; i < wish.columns; i++)
    idem::streams::require_column(relation, wish.column[i], wish.columns == 3);
  // ALTER TABLE refuses a table that is in use, by ourselves too.
  relation_close(relation, NoLock);
  drop_triggers(table, function);
  make_triggers(table, wish);
  PG_RETURN_VOID();
}

IDEM_FUNCTION(idem_stream_detach) {
  idem::server::require_writable("idem_stream_detach()");
  Relation relation = idem::tables::open_owned_table(fcinfo, kRel, AccessExclusiveLock);
  const Oid table = RelationGetRelid(relation);
  const Oid function = accept_row_in(get_func_namespace(fcinfo->flinfo->fn_oid));
  idem::tables::require_no_partition(relation);
  require_made_here(relation, function);
  const bool attached = triggers_of(relation, function) != NIL;
  relation_close(relation, NoLock);
  if (attached) drop_triggers(table, function);
  return BoolGetDatum(attached);
}

IDEM_FUNCTION(idem_stream_attached) {
  const idem::server::Rows rows = idem::server::begin_rows(fcinfo);
  const Oid function = accept_row_in(get_func_namespace(fcinfo->flinfo->fn_oid));
  ListCell *cell;
  foreach (cell, idem::tables::tables_with_trigger(function)) {
    Relation relation = try_relation_open(lfirst_oid(cell), AccessShareLock);
    if (relation == nullptr) continue;
    show_table(rows, relation, function);
    relation_close(relation, AccessShareLock);
  }
  return Datum{0};
}
