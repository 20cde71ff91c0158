#include "cleanup/leaf.hpp"

#include "cleanup/archive.hpp"
#include "server/compat.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

namespace {

const char *qualified_name(Relation relation) {
  return quote_qualified_identifier(get_namespace_name(RelationGetNamespace(relation)),
                                    RelationGetRelationName(relation));
}

// Why rows of a relation cannot expire.
enum class Defect { none, kind, no_column, type, no_index };

[[noreturn]] void refuse_kind(Relation relation) {
  ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                  errmsg("rows of \"%s\" cannot expire here", RelationGetRelationName(relation)),
                  errdetail("It is not a table with rows of its own in this server."),
                  errhint("Detach the foreign partition, or expire its rows where they are.")));
  pg_unreachable();
}

[[noreturn]] void refuse_index(Relation relation, const char *column) {
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("table \"%s\" has no index on column \"%s\" to find expired rows by",
                         RelationGetRelationName(relation), column),
                  errdetail("It takes a valid B-tree index on that column alone."),
                  errhint("CREATE INDEX CONCURRENTLY ON %s (%s);", qualified_name(relation),
                          quote_identifier(column))));
  pg_unreachable();
}

[[noreturn]] void refuse_column(Relation relation, const char *why) {
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("the column by which rows of \"%s\" expire %s",
                         RelationGetRelationName(relation), why),
                  errhint("Call idem_expire_attach again with a column of type timestamptz, "
                          "timestamp or date, or idem_expire_detach.")));
  pg_unreachable();
}

[[noreturn]] void refuse(Defect defect, Relation relation, const Leaf &leaf) {
  if (defect == Defect::kind) refuse_kind(relation);
  if (defect == Defect::no_index) refuse_index(relation, leaf.column);
  refuse_column(relation,
                defect == Defect::type ? "is no longer a time" : "does not exist any more");
}

// A partition may number its columns otherwise than the table that was attached.
AttrNumber column_in(const Rule &rule, Relation relation) {
  if (RelationGetRelid(relation) == rule.table) return rule.column;
  const char *name = get_attname(rule.table, rule.column, true);
  return name == nullptr ? InvalidAttrNumber : get_attnum(RelationGetRelid(relation), name);
}

Defect describe(const Rule &rule, Relation relation, Leaf *leaf) {
  if (relation->rd_rel->relkind != RELKIND_RELATION) return Defect::kind;
  const AttrNumber column = column_in(rule, relation);
  if (column <= 0 || column > RelationGetDescr(relation)->natts) return Defect::no_column;
  const FormData_pg_attribute *attribute = TupleDescAttr(RelationGetDescr(relation), column - 1);
  if (attribute->attisdropped) return Defect::no_column;
  leaf->rule = &rule;
  leaf->relation = RelationGetRelid(relation);
  leaf->owner = relation->rd_rel->relowner;
  leaf->name = qualified_name(relation);
  leaf->column = pstrdup(NameStr(attribute->attname));
  leaf->type = expiry_type(attribute->atttypid);
  if (!OidIsValid(leaf->type)) return Defect::type;
  leaf->index = expiry_index(relation, column);
  return OidIsValid(leaf->index) ? Defect::none : Defect::no_index;
}

bool lock(Oid relation, LeafUse use) {
  switch (use) {
    case LeafUse::look:
      return ConditionalLockRelationOid(relation, AccessShareLock);
    case LeafUse::expire_at_once:
      return ConditionalLockRelationOid(relation, RowExclusiveLock);
    case LeafUse::expire:
      break;
  }
  LockRelationOid(relation, RowExclusiveLock);
  return true;
}

// What is moved: generated columns are left to the archive.
const char *columns_of(Oid relation) {
  Relation opened = table_open(relation, NoLock);
  const TupleDesc descriptor = RelationGetDescr(opened);
  StringInfoData list;
  initStringInfo(&list);
  for (int i = 0; i < descriptor->natts; i++) {
    const FormData_pg_attribute *attribute = TupleDescAttr(descriptor, i);
    if (attribute->attisdropped || attribute->attgenerated != '\0') continue;
    appendStringInfo(&list, "%s%s", list.len > 0 ? ", " : "",
                     quote_identifier(NameStr(attribute->attname)));
  }
  table_close(opened, NoLock);
  return list.data;
}

const char *qualified_name_of(Oid relation) {
  return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relation)),
                                    get_rel_name(relation));
}

// $1 is the time or date up to which rows are expired.
const char *condition_of(const Leaf &leaf) {
  if (!leaf.rule->records)
    return psprintf("%s OPERATOR(pg_catalog.<=) $1", quote_identifier(leaf.column));
  return "expires_at OPERATOR(pg_catalog.<=) $1 AND (status OPERATOR(pg_catalog.<>) 'in_progress'"
         " OR lease_expires_at OPERATOR(pg_catalog.<=) $1)";
}

const char *locked_rows(const Leaf &leaf) {
  return psprintf(
      "SELECT ctid FROM ONLY %s WHERE ctid OPERATOR(pg_catalog.=) ANY ($2) AND (%s)"
      " FOR UPDATE SKIP LOCKED",
      leaf.name, condition_of(leaf));
}

// Addresses are compared as an array, so that the rows are fetched and never searched for.
const char *deletion(const Leaf &leaf) {
  return psprintf("DELETE FROM ONLY %s WHERE ctid OPERATOR(pg_catalog.=) ANY (ARRAY(%s))",
                  leaf.name, locked_rows(leaf));
}

// `target` and `source` complete INSERT INTO ... SELECT ... for the rows in `gone`.
const char *move(const Leaf &leaf, const char *target, const char *source) {
  return psprintf(
      "WITH gone AS (%s RETURNING *), kept AS (INSERT INTO %s SELECT %s)"
      " SELECT FROM gone",
      deletion(leaf), target, source);
}

const char *move_to_archive(const Leaf &leaf) {
  const char *columns = columns_of(leaf.relation);
  return move(leaf, psprintf("%s (%s)", qualified_name_of(leaf.rule->archive), columns),
              psprintf("%s FROM gone", columns));
}

const char *move_records(const Premises &premises, const Leaf &leaf) {
  const char *schema = quote_identifier(get_namespace_name(premises.home.schema));
  const char *columns =
      "scope, key, token, attempt, created_at, lease_expires_at, expires_at, owner, fingerprint,"
      " checkpoint, checkpoint_data, status, completed_at, code, result, body";
  return move(leaf, psprintf("%s.idem_archive (archived_at, %s)", schema, columns),
              psprintf("pg_catalog.statement_timestamp(), %s FROM gone WHERE EXISTS (SELECT FROM"
                       " %s.idem_scopes AS s WHERE s.scope OPERATOR(pg_catalog.=) gone.scope"
                       " AND s.on_expiry OPERATOR(pg_catalog.=) 'archive')",
                       columns, schema));
}

Datum array_of(const ItemPointerData *tids, int count) {
  auto *datums = static_cast<Datum *>(palloc(sizeof(Datum) * static_cast<Size>(count)));
  for (int i = 0; i < count; i++) datums[i] = PointerGetDatum(&tids[i]);
  return PointerGetDatum(
      construct_array(datums, count, TIDOID, sizeof(ItemPointerData), false, TYPALIGN_SHORT));
}

std::int64_t execute(const char *sql, Oid type, Datum limit, Datum tids) {
  Oid types[] = {type, TIDARRAYOID};
  Datum values[] = {limit, tids};
  SPI_connect();
  const int code = SPI_execute_with_args(sql, 2, types, values, nullptr, false, 0);
  if (code < 0) elog(ERROR, "SPI_execute_with_args failed: %s", SPI_result_code_string(code));
  const auto rows = static_cast<std::int64_t>(SPI_processed);
  SPI_finish();
  return rows;
}

// Runs call(argument) as the owner, in a security-restricted operation with a safe search_path. An
// ERROR needs no undoing here: ending the transaction does it.
void run_as(Oid owner, void (*call)(void *), void *argument) {
  Oid caller;
  int context;
  GetUserIdAndSecContext(&caller, &context);
  SetUserIdAndSecContext(owner, context | SECURITY_LOCAL_USERID_CHANGE |
                                    SECURITY_RESTRICTED_OPERATION | SECURITY_NOFORCE_RLS);
  const int level = NewGUCNestLevel();
  (void)set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
                          GUC_ACTION_SAVE, true, 0, false);
  call(argument);
  AtEOXact_GUC(false, level);
  SetUserIdAndSecContext(caller, context);
}

template <typename Call>
void as_owner(Oid owner, Call call) {
  run_as(
      owner, [](void *argument) { (*static_cast<Call *>(argument))(); }, &call);
}

bool find_smallest(const Leaf &leaf, TimestampTz now, bool expired, TimestampTz *at) {
  Relation heap = table_open(leaf.relation, NoLock);
  Datum value;
  const bool found = smallest(heap, leaf.index, leaf.type,
                              expired_up_to(*leaf.rule, leaf.type, now), expired, &value);
  table_close(heap, NoLock);
  if (found) *at = expiry_of(*leaf.rule, leaf.type, value);
  return found;
}

}  // namespace

Opening open_leaf(const Rule &rule, Oid relation, LeafUse use, Leaf *leaf) {
  if (!lock(relation, use)) return Opening::busy;
  Relation opened = try_relation_open(relation, NoLock);
  if (opened == nullptr) return Opening::gone;
  const Defect defect = describe(rule, opened, leaf);
  if (defect != Defect::none) refuse(defect, opened, *leaf);
  table_close(opened, NoLock);
  return Opening::open;
}

bool can_expire(const Rule &rule, Oid relation) {
  if (!lock(relation, LeafUse::look)) return true;
  Relation opened = try_relation_open(relation, NoLock);
  if (opened == nullptr) return true;
  Leaf leaf;
  const bool possible = describe(rule, opened, &leaf) == Defect::none;
  table_close(opened, NoLock);
  return possible;
}

void find_expired(const Leaf &leaf, TimestampTz now, Cursor *cursor, Addresses *addresses) {
  Relation heap = table_open(leaf.relation, NoLock);
  collect(heap, leaf.index, leaf.type, expired_up_to(*leaf.rule, leaf.type, now), cursor,
          addresses);
  table_close(heap, NoLock);
}

std::int64_t expire(const Premises &premises, const Leaf &leaf, TimestampTz now,
                    const ItemPointerData *tids, int count) {
  const bool archiving = leaf.rule->records && archives_records(premises);
  const char *sql = archiving                        ? move_records(premises, leaf)
                    : OidIsValid(leaf.rule->archive) ? move_to_archive(leaf)
                                                     : deletion(leaf);
  const Datum limit = expired_up_to(*leaf.rule, leaf.type, now);
  const Datum array = array_of(tids, count);
  std::int64_t rows = 0;
  std::int64_t *result = &rows;
  const Oid type = leaf.type;
  as_owner(leaf.owner, [=] { *result = execute(sql, type, limit, array); });
  return rows;
}

bool oldest_expired(const Leaf &leaf, TimestampTz now, TimestampTz *expired_at) {
  return find_smallest(leaf, now, true, expired_at);
}

bool next_expiry(const Leaf &leaf, TimestampTz now, TimestampTz *expires_at) {
  return find_smallest(leaf, now, false, expires_at);
}

std::int64_t estimate_backlog(const Leaf &leaf, TimestampTz now) {
  Oid output;
  bool varlena;
  getTypeOutputInfo(leaf.type, &output, &varlena);
  const char *limit = OidOutputFunctionCall(output, expired_up_to(*leaf.rule, leaf.type, now));
  // A literal, so that the planner has the value to look up in its histogram.
  const char *sql = psprintf("SELECT FROM ONLY %s WHERE %s OPERATOR(pg_catalog.<=) %s::%s",
                             leaf.name, quote_identifier(leaf.column), quote_literal_cstr(limit),
                             format_type_be_qualified(leaf.type));
  SPI_connect();
  SPIPlanPtr plan = SPI_prepare(sql, 0, nullptr);
  if (plan == nullptr) elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
  CachedPlan *cached = SPI_plan_get_cached_plan(plan);
  if (cached == nullptr) elog(ERROR, "there is no plan for \"%s\"", sql);
  const double rows = linitial_node(PlannedStmt, cached->stmt_list)->planTree->plan_rows;
  server::release_unsaved_plan(cached);
  SPI_finish();
  return static_cast<std::int64_t>(rows);
}

void require_fitting_archive(Oid table, Oid archive) {
  Relation opened = table_open(table, NoLock);
  const TupleDesc descriptor = RelationGetDescr(opened);
  for (int i = 0; i < descriptor->natts; i++) {
    const FormData_pg_attribute *attribute = TupleDescAttr(descriptor, i);
    if (attribute->attisdropped || attribute->attgenerated != '\0') continue;
    const AttrNumber there = get_attnum(archive, NameStr(attribute->attname));
    if (there != InvalidAttrNumber && get_atttype(archive, there) == attribute->atttypid) continue;
    ereport(ERROR, (errcode(server::errcode_of(sqlstate::kBadArgument)),
                    errmsg("archive \"%s\" has no column \"%s\" of type %s", get_rel_name(archive),
                           NameStr(attribute->attname), format_type_be(attribute->atttypid)),
                    errhint("CREATE TABLE ... (LIKE %s) makes a table that fits.",
                            qualified_name(opened))));
  }
  table_close(opened, NoLock);
}

}  // namespace idem::cleanup
