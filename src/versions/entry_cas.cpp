// idem_cas: a change of one row, provided that it has the version that the caller has read.

#include "server/arguments.hpp"
#include "server/compat.hpp"
#include "server/guard.hpp"
#include "server/names.hpp"
#include "server/prelude.hpp"
#include "tables/arguments.hpp"
#include "tables/plans.hpp"
#include "tables/row.hpp"
#include "versions/attachment.hpp"
#include "versions/bump.hpp"
#include "versions/refusal.hpp"

namespace idem::versions {

Swap swap = {};

}  // namespace idem::versions

namespace {

using idem::tables::KeyCondition;
using idem::versions::Attached;
using idem::versions::Attachment;
using idem::versions::Mode;
using idem::versions::refuse_argument;

constexpr int kRel = 0, kKey = 1, kExpected = 2, kChanges = 3;
// Attempts to change a row that turns up with the expected version right after it was not found.
constexpr int kAttempts = 3;

struct Call {
  Relation relation;
  const Attachment *attachment;
  KeyCondition key;
  Jsonb *key_as_given;
  std::int64_t expected;
  Jsonb *changes;
  // Whether a change counts, or there is none: then the row gets its next version.
  bool raises;
};

// An UPDATE with the values of its parameters.
struct Update {
  StringInfoData sql;
  int parameters;
  Oid *types;
  Datum *values;
  char *nulls;
};

const char *name_of_column(const Call &call, AttrNumber column) {
  return get_attname(RelationGetRelid(call.relation), column, false);
}

Attached required_attachment(FunctionCallInfo fcinfo, Relation relation) {
  const Oid schema = get_func_namespace(fcinfo->flinfo->fn_oid);
  const Attached attached =
      idem::versions::find_attached(relation, idem::versions::version_check_in(schema));
  if (attached.trigger == nullptr)
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("table \"%s\" has no version column", RelationGetRelationName(relation)),
                    relation->rd_rel->relkind == RELKIND_VIEW
                        ? errhint("It is a view. Name the table that has the rows.")
                        : errhint("Attach one with idem_version_attach.")));
  return attached;
}

Jsonb *changes_argument(FunctionCallInfo fcinfo) {
  Jsonb *changes = PG_ARGISNULL(kChanges) ? nullptr : PG_GETARG_JSONB_P(kChanges);
  if (changes == nullptr || !JB_ROOT_IS_OBJECT(changes))
    refuse_argument(
        changes == nullptr ? "changes must not be null" : "changes must be a JSON object",
        "Pass the new values of columns, such as '{\"status\": \"paid\"}', or '{}' for a new "
        "version alone.");
  return changes;
}

Call read_call(FunctionCallInfo fcinfo, Relation relation) {
  Call call = {};
  call.relation = relation;
  if (PG_ARGISNULL(kExpected))
    refuse_argument("expected must not be null",
                    "Pass the version that the row had when it was "
                    "read.");
  call.expected = PG_GETARG_INT64(kExpected);
  call.changes = changes_argument(fcinfo);
  call.key_as_given = idem::tables::required_key(fcinfo, kKey);
  call.attachment = required_attachment(fcinfo, relation).attachment;
  call.key = idem::tables::read_key(relation, InvalidAttrNumber, call.key_as_given);
  call.raises = JB_ROOT_COUNT(call.changes) == 0;
  return call;
}

Update begin_update(const Call &call) {
  Update update = {};
  const std::size_t parameters = call.key.parameters + 2 + JB_ROOT_COUNT(call.changes);
  initStringInfo(&update.sql);
  update.types = static_cast<Oid *>(palloc(parameters * sizeof(Oid)));
  update.values = static_cast<Datum *>(palloc(parameters * sizeof(Datum)));
  update.nulls = static_cast<char *>(palloc(parameters));
  memset(update.nulls, ' ', parameters);
  update.parameters = call.key.parameters;
  memcpy(update.types, call.key.types, call.key.parameters * sizeof(Oid));
  memcpy(update.values, call.key.values, call.key.parameters * sizeof(Datum));
  appendStringInfo(&update.sql, "UPDATE %s AS t SET ",
                   idem::server::qualified_name(RelationGetRelid(call.relation)));
  return update;
}

// The number of the parameter.
int add_parameter(Update &update, Oid type, Datum value) {
  update.types[update.parameters] = type;
  update.values[update.parameters] = value;
  return ++update.parameters;
}

void add_change(Call &call, Update &update, const char *name, const JsonbValue &value) {
  const AttrNumber column = idem::tables::existing_column(call.relation, name);
  if (column == call.attachment->column)
    refuse_argument(psprintf("changes names the version column \"%s\"", name),
                    "Leave it out: the version is raised by 1, and returned.");
  if (!call.attachment->ignores[column - 1]) call.raises = true;
  const Oid type = get_atttype(RelationGetRelid(call.relation), column);
  const NullableDatum stored = idem::tables::value_for_column(value, type);
  const int number = add_parameter(update, type, stored.value);
  if (stored.isnull) update.nulls[number - 1] = 'n';
  appendStringInfo(&update.sql, "%s = $%d, ", quote_identifier(name), number);
}

void add_changes(Call &call, Update &update) {
  JsonbIterator *iterator = JsonbIteratorInit(&call.changes->root);
  JsonbValue name;
  JsonbValue value;
  JsonbIteratorToken token;
  while ((token = JsonbIteratorNext(&iterator, &name, true)) != WJB_DONE) {
    if (token != WJB_KEY) continue;
    const char *column = pnstrdup(name.val.string.val, name.val.string.len);
    (void)JsonbIteratorNext(&iterator, &value, true);
    add_change(call, update, column, value);
  }
}

// The next version is written here, and not left to the check, since that may not fire: disabled,
// in the replica role, by a WHEN clause, or in a child that has none. In mode expect it must be
// left to the check, which would take the next version for one that was read.
void add_version(const Call &call, Update &update, const char *version) {
  const bool big = call.attachment->big;
  if (!call.raises) {
    update.sql.len -= static_cast<int>(strlen(", "));
  } else if (call.attachment->mode == Mode::expect) {
    appendStringInfo(&update.sql, "%s = t.%s", version, version);
  } else {
    const std::int64_t next = call.expected + 1;
    const Datum value = big ? Int64GetDatum(next) : Int32GetDatum(static_cast<int32>(next));
    appendStringInfo(&update.sql, "%s = $%d", version,
                     add_parameter(update, big ? INT8OID : INT4OID, value));
  }
}

[[noreturn]] void refuse_outcome(const Call &call, const Update &update, int code) {
  if (code == SPI_OK_REWRITTEN)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("a rule puts another statement in place of updates of table \"%s\"",
                           RelationGetRelationName(call.relation)),
                    errhint("idem_cas needs to update the row itself. Have a trigger do what the "
                            "rule does.")));
  elog(ERROR, "\"%s\" failed: %s", update.sql.data, SPI_result_code_string(code));
  pg_unreachable();
}

void execute(const Call &call, const Update &update) {
  const idem::tables::Plan plan =
      idem::tables::plan_for(update.sql.data, update.parameters, update.types);
  const idem::versions::Swap outer = idem::versions::swap;
  volatile int code = 0;
  PG_TRY();
  {
    idem::versions::swap = {RelationGetRelid(call.relation), call.expected,
                            idem::versions::trigger_depth(), call.raises};
    code = idem::tables::execute_plan(plan, update.values, update.nulls, false, 0);
  }
  PG_FINALLY();
  { idem::versions::swap = outer; }
  PG_END_TRY();
  if (code != SPI_OK_UPDATE_RETURNING) refuse_outcome(call, update, code);
}

// The one value that the statement gave, or false: there is none.
bool take_version(const Call &call, std::int64_t *version) {
  if (SPI_processed > 1) idem::tables::refuse_ambiguous(call.relation);
  if (SPI_processed == 0) return false;
  bool isnull;
  const Datum value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
  *version = isnull ? 0 : DatumGetInt64(value);
  return true;
}

bool find_version(const Call &call, std::int64_t *version) {
  const char *sql =
      psprintf("SELECT t.%s::pg_catalog.int8 FROM %s AS t WHERE %s",
               quote_identifier(name_of_column(call, call.attachment->column)),
               idem::server::qualified_name(RelationGetRelid(call.relation)), call.key.sql.data);
  const idem::tables::Plan plan = idem::tables::plan_for(sql, call.key.parameters, call.key.types);
  const int code =
      idem::tables::execute_plan(plan, const_cast<Datum *>(call.key.values), nullptr, false, 0);
  if (code != SPI_OK_SELECT) elog(ERROR, "\"%s\" failed: %s", sql, SPI_result_code_string(code));
  return take_version(call, version);
}

[[noreturn]] void refuse_missing(const Call &call, bool seen) {
  ereport(ERROR, (errcode(ERRCODE_NO_DATA_FOUND),
                  seen ? errmsg("the row of table \"%s\" with this key cannot be updated",
                                RelationGetRelationName(call.relation))
                       : errmsg("table \"%s\" has no row with this key",
                                RelationGetRelationName(call.relation)),
                  seen ? errhint("A trigger or a policy of the table keeps it as it is.")
                       : errhint("It may have been deleted, not be committed yet, or be hidden by "
                                 "a policy.")));
  pg_unreachable();
}

const char *row_of(const Call &call) {
  Jsonb *key = call.key_as_given;
  return psprintf(" Row: %s.", JsonbToCString(nullptr, &key->root, static_cast<int>(VARSIZE(key))));
}

// Why no row was changed, unless it has the expected version now.
void explain(const Call &call) {
  std::int64_t stored;
  if (!find_version(call, &stored)) refuse_missing(call, false);
  if (stored != call.expected)
    idem::versions::refuse_stale(call.relation, call.attachment->column, call.expected, stored,
                                 row_of(call) + 1);
}

// No row can have a version after the expected one.
bool is_beyond(const Call &call) {
  const bool big = call.attachment->big;
  return call.expected >= (big ? PG_INT64_MAX : PG_INT32_MAX) ||
         call.expected < (big ? PG_INT64_MIN : PG_INT32_MIN);
}

[[noreturn]] void refuse_beyond(const Call &call) {
  explain(call);
  idem::versions::refuse({call.relation, call.attachment, call.expected, false, call.expected},
                         idem::versions::Verdict::exhausted, row_of(call));
}

// A row without a version, which a trigger of the user's allows, counts as being at 0.
const char *stored_version(const Call &call, const char *version) {
  const TupleDesc descriptor = RelationGetDescr(call.relation);
  if (!idem::server::may_be_null(descriptor, call.attachment->column))
    return psprintf("t.%s", version);
  return psprintf("COALESCE(t.%s, 0)", version);
}

Update update_for(Call &call) {
  Update update = begin_update(call);
  add_changes(call, update);
  if (call.raises && is_beyond(call)) refuse_beyond(call);
  const char *version = quote_identifier(name_of_column(call, call.attachment->column));
  add_version(call, update, version);
  const int expected = add_parameter(update, INT8OID, Int64GetDatum(call.expected));
  appendStringInfo(&update.sql,
                   " WHERE %s AND %s OPERATOR(pg_catalog.=) $%d RETURNING t.%s::pg_catalog.int8",
                   call.key.sql.data, stored_version(call, version), expected, version);
  return update;
}

// Without a new version the next caller who expects this one would pass as well.
void require_raised(const Call &call, std::int64_t version) {
  if (!call.raises || version == call.expected + 1) return;
  ereport(ERROR,
          (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
           errmsg("the version of a row in table \"%s\" was not raised",
                  RelationGetRelationName(call.relation)),
           errdetail("It is %lld after the change, and should be %lld.",
                     static_cast<long long>(version), static_cast<long long>(call.expected + 1)),
           errhint("Either another trigger writes column \"%s\", or the check does not fire: it "
                   "is disabled, session_replication_role keeps it from firing, its WHEN clause "
                   "or its columns leave the update out, or the row is in a child without it.",
                   name_of_column(call, call.attachment->column)),
           errtablecol(call.relation, call.attachment->column)));
}

std::int64_t compare_and_set(Call &call) {
  const Update update = update_for(call);
  std::int64_t version = 0;
  for (int attempt = 0; attempt < kAttempts; attempt++) {
    execute(call, update);
    if (take_version(call, &version)) {
      require_raised(call, version);
      return version;
    }
    explain(call);
  }
  refuse_missing(call, true);
}

}  // namespace

IDEM_FUNCTION(idem_cas) {
  idem::server::require_writable("idem_cas()");
  Relation relation = idem::tables::open_table(fcinfo, kRel, RowExclusiveLock, ACL_UPDATE);
  Call call = read_call(fcinfo, relation);
  SPI_connect();
  const std::int64_t version = compare_and_set(call);
  SPI_finish();
  relation_close(relation, NoLock);
  return Int64GetDatum(version);
}
