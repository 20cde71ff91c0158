// idem_machine_migrate: rows to another version of their machine, or out of states that it gives
// up.

#include "machines/arguments.hpp"
#include "machines/attachment.hpp"
#include "machines/migration.hpp"
#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/names.hpp"
#include "server/prelude.hpp"
#include "tables/arguments.hpp"

namespace {

using idem::machines::Attachment;
using idem::machines::Edition;
using idem::machines::Migration;
using idem::server::errcode_of;

constexpr int kRel = 0, kCol = 1, kStates = 2, kVersion = 3, kMachine = 4, kMaxRows = 5;

struct Task {
  Relation relation;
  const Attachment *attachment;
  const Edition *target;
  Migration migration;
  std::int64_t limit;  // 0: none
};

[[noreturn]] void refuse(const char *problem, const char *hint) {
  ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kBadArgument)), errmsg("%s", problem),
                  errhint("%s", hint)));
  pg_unreachable();
}

const char *string_of(const JsonbValue &value) {
  if (value.type != jbvString)
    refuse("states must be a JSON object of strings",
           "Pass for example states => '{\"on_hold\": \"pending\"}'.");
  return pnstrdup(value.val.string.val, value.val.string.len);
}

void require_state(const Edition *target, const char *state) {
  if (idem::machines::find_state(*target->machine, state) != idem::machines::kUnknown) return;
  ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kUnknownState)),
                  errmsg("\"%s\" is no state of machine \"%s\", version %d", state, target->name,
                         target->version),
                  errhint("Move rows to states that the machine has.")));
}

Migration read_states(FunctionCallInfo fcinfo, const Attachment *attachment,
                      const Edition *target) {
  Migration migration = {attachment->label, 0, nullptr, nullptr};
  if (PG_ARGISNULL(kStates)) return migration;
  Jsonb *states = PG_GETARG_JSONB_P(kStates);
  if (!JB_ROOT_IS_OBJECT(states))
    refuse("states must be a JSON object", "Pass for example states => '{\"old\": \"new\"}'.");
  const Size room = (JB_ROOT_COUNT(states) + 1) * sizeof(char *);
  auto **from = static_cast<const char **>(palloc(room));
  auto **to = static_cast<const char **>(palloc(room));
  JsonbIterator *iterator = JsonbIteratorInit(&states->root);
  JsonbValue key;
  JsonbValue value;
  JsonbIteratorToken token;
  while ((token = JsonbIteratorNext(&iterator, &key, true)) != WJB_DONE) {
    if (token != WJB_KEY) continue;
    (void)JsonbIteratorNext(&iterator, &value, true);
    from[migration.replaced] = string_of(key);
    to[migration.replaced] = string_of(value);
    require_state(target, to[migration.replaced]);
    // A pair of equal states moves nothing, and would do so for ever.
    if (strcmp(from[migration.replaced], to[migration.replaced]) != 0) migration.replaced++;
  }
  migration.from = from;
  migration.to = to;
  return migration;
}

const char *machine_for(FunctionCallInfo fcinfo, const Attachment &attachment) {
  const char *machine = idem::machines::machine_argument(fcinfo, kMachine);
  if (machine == nullptr && attachment.row_machine == InvalidAttrNumber) return attachment.machine;
  if (machine == nullptr)
    refuse("machine must not be null for a table whose rows name their machines",
           "Say which machine's rows are to be moved.");
  if (attachment.row_machine == InvalidAttrNumber && strcmp(machine, attachment.machine) != 0)
    refuse(psprintf("the table follows machine \"%s\", not \"%s\"", attachment.machine, machine),
           "Leave the machine out.");
  return machine;
}

const char *column_of(const Task &task, AttrNumber column) {
  return psprintf("t.%s",
                  quote_identifier(get_attname(RelationGetRelid(task.relation), column, false)));
}

// By the equality that the machine itself goes by.
const char *is_state(const Task &task, const char *state) {
  const Oid type = task.attachment->type.type;
  const char *type_name = format_type_be_qualified(type);
  const Oid equality = lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr;
  return psprintf("%s::%s OPERATOR(%s.%s) %s::%s", column_of(task, task.attachment->column),
                  type_name,
                  quote_identifier(get_namespace_name(get_func_namespace(get_opcode(equality)))),
                  get_opname(equality), quote_literal_cstr(state), type_name);
}

// The state of a row after the migration; each row moves once, whatever the states' names.
const char *new_state(const Task &task) {
  const Migration &migration = task.migration;
  StringInfoData sql;
  initStringInfo(&sql);
  appendStringInfoString(&sql, "CASE");
  for (int i = 0; i < migration.replaced; i++)
    appendStringInfo(&sql, " WHEN %s THEN %s::%s", is_state(task, migration.from[i]),
                     quote_literal_cstr(migration.to[i]),
                     format_type_be_qualified(task.attachment->type.type));
  appendStringInfo(&sql, " ELSE %s END", column_of(task, task.attachment->column));
  return sql.data;
}

// Rows that are to move: those of another version, or else those in the states.
const char *condition_of(const Task &task) {
  const Attachment &attachment = *task.attachment;
  StringInfoData sql;
  initStringInfo(&sql);
  if (attachment.row_version != InvalidAttrNumber) {
    const char *version = column_of(task, attachment.row_version);
    appendStringInfo(&sql, "(%s IS NULL OR %s OPERATOR(pg_catalog.<>) %d)", version, version,
                     task.target->version);
  } else {
    for (int i = 0; i < task.migration.replaced; i++)
      appendStringInfo(&sql, "%s%s", i == 0 ? "(" : " OR ", is_state(task, task.migration.from[i]));
    appendStringInfoChar(&sql, ')');
  }
  if (attachment.row_machine != InvalidAttrNumber)
    appendStringInfo(
        &sql, " AND coalesce(%s::pg_catalog.text, %s) OPERATOR(pg_catalog.=) %s",
        column_of(task, attachment.row_machine),
        attachment.machine == nullptr ? "NULL" : quote_literal_cstr(attachment.machine),
        quote_literal_cstr(task.target->name));
  return sql.data;
}

const char *name_of(const Task &task, AttrNumber column) {
  return quote_identifier(get_attname(RelationGetRelid(task.relation), column, false));
}

const char *update_of(const Task &task) {
  const Attachment &attachment = *task.attachment;
  StringInfoData sql;
  initStringInfo(&sql);
  const char *table = idem::server::qualified_name(RelationGetRelid(task.relation));
  const char *condition = condition_of(task);
  appendStringInfo(&sql, "UPDATE %s AS t SET ", table);
  if (task.migration.replaced > 0)
    appendStringInfo(&sql, "%s = %s", name_of(task, attachment.column), new_state(task));
  if (attachment.row_version != InvalidAttrNumber)
    appendStringInfo(&sql, "%s%s = %d", task.migration.replaced > 0 ? ", " : "",
                     name_of(task, attachment.row_version), task.target->version);
  appendStringInfo(&sql, " WHERE %s", condition);
  if (task.limit > 0)
    appendStringInfo(&sql,
                     " AND (t.tableoid, t.ctid) OPERATOR(pg_catalog.=) ANY"
                     " (SELECT t.tableoid, t.ctid FROM %s AS t WHERE %s LIMIT " INT64_FORMAT ")",
                     table, condition, task.limit);
  return sql.data;
}

std::int64_t execute(const char *sql, int expected) {
  SPI_connect();
  const int code = SPI_execute(sql, false, 0);
  if (code != expected) elog(ERROR, "\"%s\" failed: %s", sql, SPI_result_code_string(code));
  const auto rows = static_cast<std::int64_t>(SPI_processed);
  SPI_finish();
  return rows;
}

bool has_rows_left(const Task &task) {
  return execute(psprintf("SELECT FROM %s AS t WHERE %s LIMIT 1",
                          idem::server::qualified_name(RelationGetRelid(task.relation)),
                          condition_of(task)),
                 SPI_OK_SELECT) > 0;
}

// A row of a batch that somebody else changed while we waited for him is found by the next one.
std::int64_t move_rows(Task &task) {
  std::int64_t moved = execute(update_of(task), SPI_OK_UPDATE);
  const std::int64_t wanted = task.limit;
  while (wanted > 0 && moved < wanted && has_rows_left(task)) {
    CHECK_FOR_INTERRUPTS();
    task.limit = wanted - moved;
    moved += execute(update_of(task), SPI_OK_UPDATE);
  }
  return moved;
}

// A row that has moved must not look like one that is still to move in the next batch.
void require_no_chain(const Task &task) {
  if (task.limit == 0 || task.attachment->row_version != InvalidAttrNumber) return;
  for (int i = 0; i < task.migration.replaced; i++)
    for (int j = 0; j < task.migration.replaced; j++)
      if (strcmp(task.migration.to[i], task.migration.from[j]) == 0)
        refuse(psprintf("state \"%s\" is both left and entered, which batches cannot tell apart",
                        task.migration.to[i]),
               "Leave max_rows out, or migrate one state after the other.");
}

std::int64_t limit_argument(FunctionCallInfo fcinfo) {
  if (PG_ARGISNULL(kMaxRows)) return 0;
  const std::int64_t limit = PG_GETARG_INT64(kMaxRows);
  if (limit < 1)
    refuse(psprintf("max_rows must be positive, not " INT64_FORMAT, limit),
           "Leave it out to move all rows at once.");
  return limit;
}

std::int64_t run(Task &task) {
  const Migration *outer = idem::machines::migration;
  volatile std::int64_t moved = 0;
  PG_TRY();
  {
    idem::machines::migration = &task.migration;
    moved = move_rows(task);
  }
  PG_FINALLY();
  { idem::machines::migration = outer; }
  PG_END_TRY();
  return moved;
}

}  // namespace

IDEM_FUNCTION(idem_machine_migrate) {
  idem::server::require_writable("idem_machine_migrate()");
  Task task = {};
  task.relation = idem::tables::open_owned_table(fcinfo, kRel, RowExclusiveLock);
  const idem::machines::Place place = idem::machines::place_of(fcinfo->flinfo->fn_oid);
  task.attachment = idem::machines::find_attachment(
      task.relation, place.home.schema, idem::machines::required_column_name(fcinfo, kCol));
  task.target = idem::machines::edition_of(place, machine_for(fcinfo, *task.attachment),
                                           idem::machines::version_argument(fcinfo, kVersion));
  task.migration = read_states(fcinfo, task.attachment, task.target);
  if (task.attachment->row_version == InvalidAttrNumber && !PG_ARGISNULL(kVersion))
    refuse("the rows of the table follow the newest version of their machine",
           "Attach the machine with version_col => '...' to keep rows at a version.");
  if (task.attachment->row_version == InvalidAttrNumber && task.migration.replaced == 0)
    refuse("there is nothing to migrate",
           "Say which states to replace, such as states => '{\"on_hold\": \"pending\"}'.");
  task.limit = limit_argument(fcinfo);
  require_no_chain(task);
  const std::int64_t moved = run(task);
  relation_close(task.relation, NoLock);
  return Int64GetDatum(moved);
}
