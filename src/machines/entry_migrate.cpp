// idem_machine_migrate: rows to another version of their machine, or out of states that it gives
// up.

#include "machines/arguments.hpp"
#include "machines/attachment.hpp"
#include "machines/migration.hpp"
#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/names.hpp"
#include "server/prelude.hpp"

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
    require_state(target, to[migration.replaced++]);
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
  return quote_identifier(get_attname(RelationGetRelid(task.relation), column, false));
}

// Rows that are not where they should be. $1: the state that they leave, or NULL: any; $2: the
// version; $3: their machine; $4: the machine of rows that name none.
const char *condition_of(const Task &task) {
  const Attachment &attachment = *task.attachment;
  StringInfoData sql;
  initStringInfo(&sql);
  appendStringInfo(&sql, "($1 IS NULL OR t.%s::pg_catalog.text OPERATOR(pg_catalog.=) $1)",
                   column_of(task, attachment.column));
  if (attachment.row_version != InvalidAttrNumber)
    appendStringInfo(&sql, " AND t.%s IS DISTINCT FROM $2",
                     column_of(task, attachment.row_version));
  if (attachment.row_machine != InvalidAttrNumber)
    appendStringInfo(&sql, " AND coalesce(t.%s::pg_catalog.text, $4) OPERATOR(pg_catalog.=) $3",
                     column_of(task, attachment.row_machine));
  return sql.data;
}

const char *update_of(const Task &task, bool replaces) {
  const Attachment &attachment = *task.attachment;
  StringInfoData set;
  initStringInfo(&set);
  if (replaces)
    appendStringInfo(&set, "%s = $5::pg_catalog.text::%s", column_of(task, attachment.column),
                     format_type_be_qualified(attachment.type.type));
  if (attachment.row_version != InvalidAttrNumber)
    appendStringInfo(&set, "%s%s = $2", set.len > 0 ? ", " : "",
                     column_of(task, attachment.row_version));
  const char *table = idem::server::qualified_name(RelationGetRelid(task.relation));
  const char *condition = condition_of(task);
  return psprintf(
      "UPDATE %s AS t SET %s WHERE %s AND (t.tableoid, t.ctid) OPERATOR(pg_catalog.=)"
      " ANY (SELECT t.tableoid, t.ctid FROM %s AS t WHERE %s LIMIT $6)",
      table, set.data, condition, table, condition);
}

std::int64_t move_rows(const Task &task, const char *from, const char *to, std::int64_t limit) {
  const char *sql = update_of(task, to != nullptr);
  const char *fallback = task.attachment->machine;
  Oid types[] = {TEXTOID, INT4OID, TEXTOID, TEXTOID, TEXTOID, INT8OID};
  Datum values[] = {from == nullptr ? Datum{0} : CStringGetTextDatum(from),
                    Int32GetDatum(task.target->version),
                    CStringGetTextDatum(task.target->name),
                    fallback == nullptr ? Datum{0} : CStringGetTextDatum(fallback),
                    to == nullptr ? Datum{0} : CStringGetTextDatum(to),
                    Int64GetDatum(limit)};
  const char nulls[] = {from == nullptr ? 'n' : ' ', ' ', ' ', fallback == nullptr ? 'n' : ' ',
                        to == nullptr ? 'n' : ' ',   ' ', '\0'};
  SPI_connect();
  const int code = SPI_execute_with_args(sql, 6, types, values, nulls, false, 0);
  if (code != SPI_OK_UPDATE) elog(ERROR, "\"%s\" failed: %s", sql, SPI_result_code_string(code));
  const auto rows = static_cast<std::int64_t>(SPI_processed);
  SPI_finish();
  return rows;
}

std::int64_t migrate(const Task &task, std::int64_t limit) {
  const Migration &migration = task.migration;
  std::int64_t moved = 0;
  for (int i = 0; i < migration.replaced && moved < limit; i++)
    moved += move_rows(task, migration.from[i], migration.to[i], limit - moved);
  if (task.attachment->row_version != InvalidAttrNumber && moved < limit)
    moved += move_rows(task, nullptr, nullptr, limit - moved);
  return moved;
}

std::int64_t limit_argument(FunctionCallInfo fcinfo) {
  if (PG_ARGISNULL(kMaxRows)) return PG_INT64_MAX;
  const std::int64_t limit = PG_GETARG_INT64(kMaxRows);
  if (limit < 1)
    refuse(psprintf("max_rows must be positive, not " INT64_FORMAT, limit),
           "Leave it out to move all rows at once.");
  return limit;
}

std::int64_t run(const Task &task, std::int64_t limit) {
  const Migration *outer = idem::machines::migration;
  volatile std::int64_t moved = 0;
  PG_TRY();
  {
    idem::machines::migration = &task.migration;
    moved = migrate(task, limit);
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
  task.relation = idem::machines::open_owned_table(fcinfo, kRel, RowExclusiveLock);
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
  const std::int64_t moved = run(task, limit_argument(fcinfo));
  relation_close(task.relation, NoLock);
  return Int64GetDatum(moved);
}
