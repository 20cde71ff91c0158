// idem_version_attach, idem_version_detach and what idem_version_attachments shows.

#include "server/arguments.hpp"
#include "server/compat.hpp"
#include "server/guard.hpp"
#include "server/inheritance.hpp"
#include "server/names.hpp"
#include "server/prelude.hpp"
#include "server/rows.hpp"
#include "server/statement.hpp"
#include "tables/arguments.hpp"
#include "tables/triggers.hpp"
#include "versions/attachment.hpp"
#include "versions/decision.hpp"
#include "versions/refusal.hpp"

namespace {

using idem::versions::Attached;
using idem::versions::Mode;
using idem::versions::refuse_argument;

constexpr int kRel = 0, kCol = 1, kMode = 2, kIgnore = 3, kFill = 4;

// What idem_version_attach() was asked for, checked.
struct Wish {
  const char *column;
  Mode mode;
  List *ignored;  // names of columns
};

const char *required_column(FunctionCallInfo fcinfo) {
  const char *column = idem::tables::column_argument(fcinfo, kCol);
  if (column == nullptr)
    refuse_argument("col must not be null", "Pass the column with the version.");
  return column;
}

Mode mode_argument(FunctionCallInfo fcinfo) {
  Mode mode = Mode::where;
  const char *name = PG_ARGISNULL(kMode) ? nullptr : text_to_cstring(PG_GETARG_TEXT_PP(kMode));
  if (name == nullptr || !idem::versions::read_mode(name, &mode))
    refuse_argument(
        name == nullptr ? "mode must not be null" : psprintf("there is no mode \"%s\"", name),
        "Pass 'where', 'expect' or 'client'.");
  return mode;
}

void add_ignored(Relation relation, Wish *wish, const char *name) {
  (void)idem::tables::existing_column(relation, name);
  if (strcmp(name, wish->column) == 0)
    refuse_argument(psprintf("ignore names the version column \"%s\" itself", name),
                    "Name the columns whose changes are to leave the version as it is.");
  ListCell *cell;
  foreach (cell, wish->ignored)
    if (strcmp(static_cast<const char *>(lfirst(cell)), name) == 0) return;
  wish->ignored = lappend(wish->ignored, const_cast<char *>(name));
}

void read_ignored(FunctionCallInfo fcinfo, Relation relation, Wish *wish) {
  if (PG_ARGISNULL(kIgnore)) return;
  Datum *names;
  bool *nulls;
  int count;
  deconstruct_array(PG_GETARG_ARRAYTYPE_P(kIgnore), NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR,
                    &names, &nulls, &count);
  for (int i = 0; i < count; i++) {
    if (nulls[i])
      refuse_argument("ignore must not have null in it", "Pass for example ARRAY['seen_at'].");
    add_ignored(relation, wish, pstrdup(NameStr(*DatumGetName(names[i]))));
  }
}

Oid check_next_to(FunctionCallInfo fcinfo) {
  return idem::versions::version_check_in(get_func_namespace(fcinfo->flinfo->fn_oid));
}

const char *name_of_column(Relation relation, AttrNumber column) {
  return get_attname(RelationGetRelid(relation), column, false);
}

// Nobody knows what else is in a trigger of the user, and two would check everything twice.
void require_made_here(Relation relation, const Attached &attached) {
  if (attached.trigger == nullptr || attached.attachment->made_here) return;
  ereport(ERROR,
          (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
           errmsg("the versions of table \"%s\" are checked by a trigger of your own, \"%s\"",
                  RelationGetRelationName(relation), attached.trigger->tgname),
           errhint("Drop it with DROP TRIGGER.")));
}

void require_same_column(Relation relation, const Attached &attached, const char *column) {
  if (attached.trigger == nullptr) return;
  const char *former = name_of_column(relation, attached.attachment->column);
  if (strcmp(former, column) == 0) return;
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("table \"%s\" has its versions in column \"%s\" already",
                         RelationGetRelationName(relation), former),
                  errhint("Detach it with idem_version_detach first: a table has one version "
                          "column.")));
}

bool has_versions_in(Oid table, Oid function, const char *column) {
  Relation relation = relation_open(table, AccessShareLock);
  const Attached attached = idem::versions::find_attached(relation, function);
  const bool has = attached.trigger != nullptr &&
                   strcmp(name_of_column(relation, attached.attachment->column), column) == 0;
  relation_close(relation, AccessShareLock);
  return has;
}

// The inheritance of triggers is for partitions alone.
void require_attached_children(Relation relation, Oid function, const char *column) {
  if (relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE) return;
  ListCell *cell;
  foreach (cell, idem::server::descendants_of(RelationGetRelid(relation))) {
    const Oid child = lfirst_oid(cell);
    if (child == RelationGetRelid(relation) || has_versions_in(child, function, column)) continue;
    ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                    errmsg("table \"%s\" has a child \"%s\" whose versions are not checked",
                           RelationGetRelationName(relation), get_rel_name(child)),
                    errdetail("Updating the parent changes rows of the child too, and the child "
                              "does not inherit triggers."),
                    errhint("Attach the check to the child first.")));
  }
}

std::int64_t count_nulls(Relation relation, const char *column) {
  const char *sql =
      psprintf("SELECT pg_catalog.count(*) FROM %s AS t WHERE t.%s IS NULL",
               idem::server::qualified_name(RelationGetRelid(relation)), quote_identifier(column));
  SPI_connect();
  if (SPI_execute(sql, false, 0) != SPI_OK_SELECT) elog(ERROR, "\"%s\" failed", sql);
  bool isnull;
  const std::int64_t rows =
      DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
  SPI_finish();
  return rows;
}

void refuse_nulls(Relation relation, const char *column) {
  const std::int64_t rows = count_nulls(relation, column);
  if (rows == 0) return;
  ereport(ERROR, (errcode(ERRCODE_NOT_NULL_VIOLATION),
                  errmsg("column \"%s\" of table \"%s\" is null in %lld row%s", column,
                         RelationGetRelationName(relation), static_cast<long long>(rows),
                         rows == 1 ? "" : "s"),
                  errhint("Pass fill => true to give such rows version 1."),
                  errtablecol(relation, idem::tables::existing_column(relation, column))));
}

// What ALTER TABLE has to do.
struct Gaps {
  bool nulls_allowed;
  bool no_default;
};

Gaps gaps_of(Relation relation, const char *name) {
  const AttrNumber column = idem::tables::existing_column(relation, name);
  const Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(relation), column - 1);
  return {idem::server::may_be_null(RelationGetDescr(relation), column), !attribute->atthasdef};
}

// With the caller's search_path, as triggers and constraints of the table may need it. The
// statement itself has nothing in it that would be looked up by it. Whether it has met all rows,
// the constraint will say.
void fill_nulls(const char *target, const char *column) {
  idem::server::execute_for_caller(
      psprintf("UPDATE %s SET %s = 1 WHERE %s IS NULL", target, column, column));
}

void fill_gaps(Oid table, const char *name, const Gaps &gaps, bool fill) {
  const char *target = idem::server::qualified_name(table);
  const char *column = quote_identifier(name);
  if (gaps.nulls_allowed && fill) fill_nulls(target, column);
  if (gaps.no_default)
    idem::tables::execute_definition(
        psprintf("ALTER TABLE %s ALTER COLUMN %s SET DEFAULT 1", target, column));
  if (gaps.nulls_allowed)
    idem::tables::execute_definition(
        psprintf("ALTER TABLE %s ALTER COLUMN %s SET NOT NULL", target, column));
}

// A condition that is always true, and that the server knows to be before it looks at a row. By the
// columns that it names the server follows renames, and the trigger finds them. OLD, because what
// a generated column will be in NEW may not be asked yet.
const char *condition(const Wish &wish) {
  StringInfoData text;
  initStringInfo(&text);
  appendStringInfo(&text, "true OR OLD.%s IS NULL", quote_identifier(wish.column));
  ListCell *cell;
  foreach (cell, wish.ignored)
    appendStringInfo(&text, " OR OLD.%s IS NULL",
                     quote_identifier(static_cast<const char *>(lfirst(cell))));
  return text.data;
}

// The last of the triggers BEFORE UPDATE, to see what the others made of the row; also after those
// of machines, whose names begin with zz_idem.
void make_trigger(Oid table, Oid function, const Wish &wish) {
  const char *name = idem::tables::free_trigger_name(table, "zzz_idem", wish.column, "version");
  idem::tables::execute_definition(psprintf(
      "CREATE TRIGGER %s BEFORE UPDATE ON %s FOR EACH ROW WHEN (%s) EXECUTE FUNCTION %s.%s('', %s)",
      quote_identifier(name), idem::server::qualified_name(table), condition(wish),
      quote_identifier(get_namespace_name(get_func_namespace(function))),
      quote_identifier(get_func_name(function)),
      quote_literal_cstr(idem::versions::name_of(wish.mode))));
}

void drop_trigger(Oid table, const char *trigger) {
  idem::tables::execute_definition(psprintf("DROP TRIGGER %s ON %s", quote_identifier(trigger),
                                            idem::server::qualified_name(table)));
}

// ALTER TABLE and DROP TRIGGER lock readers out, CREATE TRIGGER does not. Taken at once: whoever
// asks for more of a lock than he has may meet somebody who does the same.
LOCKMODE lock_needed(FunctionCallInfo fcinfo, Oid function, const char *column) {
  Relation relation = idem::tables::open_owned_table(fcinfo, kRel, AccessShareLock);
  idem::tables::require_attachable(relation, "a version check");
  const Gaps gaps = gaps_of(relation, column);
  const bool alters = gaps.nulls_allowed || gaps.no_default ||
                      idem::versions::find_attached(relation, function).trigger != nullptr;
  relation_close(relation, AccessShareLock);
  return alters ? AccessExclusiveLock : ShareRowExclusiveLock;
}

Wish check_wish(FunctionCallInfo fcinfo, Relation relation, Oid function, const char *column) {
  Wish wish = {column, mode_argument(fcinfo), NIL};
  const AttrNumber number = idem::tables::existing_column(relation, column);
  idem::versions::require_version_column(relation, number);
  read_ignored(fcinfo, relation, &wish);
  require_attached_children(relation, function, column);
  return wish;
}

}  // namespace

IDEM_FUNCTION(idem_version_attach) {
  idem::server::require_writable("idem_version_attach()");
  const char *column = required_column(fcinfo);
  const Oid function = check_next_to(fcinfo);
  const LOCKMODE mode = lock_needed(fcinfo, function, column);
  Relation relation = idem::tables::open_owned_table(fcinfo, kRel, mode);
  idem::tables::require_attachable(relation, "a version check");
  const Oid table = RelationGetRelid(relation);
  const Wish wish = check_wish(fcinfo, relation, function, column);
  const Attached former = idem::versions::find_attached(relation, function);
  require_made_here(relation, former);
  require_same_column(relation, former, column);
  const Gaps gaps = gaps_of(relation, column);
  const bool fill = !PG_ARGISNULL(kFill) && PG_GETARG_BOOL(kFill);
  if (gaps.nulls_allowed && !fill) refuse_nulls(relation, column);
  // ALTER TABLE refuses a table that is in use, by ourselves too.
  relation_close(relation, NoLock);
  if (former.trigger != nullptr) drop_trigger(table, former.trigger->tgname);
  fill_gaps(table, column, gaps, fill);
  make_trigger(table, function, wish);
  PG_RETURN_VOID();
}

IDEM_FUNCTION(idem_version_detach) {
  idem::server::require_writable("idem_version_detach()");
  const char *column = idem::tables::column_argument(fcinfo, kCol);
  Relation relation = idem::tables::open_owned_table(fcinfo, kRel, AccessExclusiveLock);
  idem::tables::require_no_partition(relation);
  const Oid table = RelationGetRelid(relation);
  const Attached attached = idem::versions::find_attached(relation, check_next_to(fcinfo));
  const bool found = attached.trigger != nullptr &&
                     (column == nullptr ||
                      strcmp(column, name_of_column(relation, attached.attachment->column)) == 0);
  if (found) require_made_here(relation, attached);
  relation_close(relation, NoLock);
  if (found) drop_trigger(table, attached.trigger->tgname);
  return BoolGetDatum(found);
}

namespace {

Datum names_ignored(Relation relation, const idem::versions::Attachment &attachment) {
  const int natts = RelationGetDescr(relation)->natts;
  auto *names = static_cast<Datum *>(palloc((natts + 1) * sizeof(Datum)));
  int count = 0;
  for (int i = 0; i < natts; i++)
    if (attachment.ignores[i])
      names[count++] = NameGetDatum(&TupleDescAttr(RelationGetDescr(relation), i)->attname);
  return PointerGetDatum(construct_array(names, count, NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR));
}

void add_row(const idem::server::Rows &rows, Relation relation, const Attached &attached) {
  NameData column =
      TupleDescAttr(RelationGetDescr(relation), attached.attachment->column - 1)->attname;
  Datum values[] = {ObjectIdGetDatum(RelationGetRelid(relation)), NameGetDatum(&column),
                    CStringGetTextDatum(idem::versions::name_of(attached.attachment->mode)),
                    names_ignored(relation, *attached.attachment)};
  bool nulls[] = {false, false, false, false};
  rows.add(values, nulls);
}

// One table with a trigger of the user's that makes no sense must not hide all others.
bool can_be_shown(Relation relation, Oid function) {
  const TriggerDesc *triggers = idem::tables::triggers_on(relation);
  for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++)
    if (triggers->triggers[i].tgfoid == function)
      return idem::versions::makes_sense(relation, triggers->triggers[i]);
  return false;
}

}  // namespace

IDEM_FUNCTION(idem_version_attached) {
  const idem::server::Rows rows = idem::server::begin_rows(fcinfo);
  const Oid function = check_next_to(fcinfo);
  ListCell *cell;
  foreach (cell, idem::tables::tables_with_trigger(function)) {
    Relation relation = try_relation_open(lfirst_oid(cell), AccessShareLock);
    if (relation == nullptr) continue;
    if (!relation->rd_rel->relispartition && can_be_shown(relation, function))
      add_row(rows, relation, idem::versions::find_attached(relation, function));
    relation_close(relation, AccessShareLock);
  }
  return Datum{0};
}
