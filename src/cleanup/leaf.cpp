#include "cleanup/leaf.hpp"

#include "server/compat.hpp"
#include "server/inheritance.hpp"
#include "server/names.hpp"
#include "server/owner.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

namespace {

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
  ereport(ERROR,
          (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
           errmsg("table \"%s\" has no index on column \"%s\" to find expired rows by",
                  RelationGetRelationName(relation), column),
           errdetail("It takes a valid B-tree index on that column alone."),
           errhint("CREATE INDEX CONCURRENTLY ON %s (%s);",
                   server::qualified_name(RelationGetRelid(relation)), quote_identifier(column))));
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
  leaf->name = server::qualified_name(RelationGetRelid(relation));
  leaf->number = column;
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

// Up to 13 a partition is detached under a lock on its parent alone.
bool lock_ancestors(Oid relation) {
  ListCell *cell;
  foreach (cell, server::ancestors_of(relation)) {
    const Oid ancestor = lfirst_oid(cell);
    if (ancestor != relation && !ConditionalLockRelationOid(ancestor, AccessShareLock))
      return false;
  }
  return true;
}

// As the owner, because the expressions of indexes are evaluated here.
Opening examine(const Rule &rule, Oid relation, bool must_serve, Leaf *leaf, Defect *defect) {
  leaf->owner = server::owner_of(relation);
  if (!OidIsValid(leaf->owner) || !server::descends_from(relation, rule.table))
    return Opening::gone;
  server::as_owner(leaf->owner, [&rule, relation, must_serve, leaf, defect] {
    Relation opened = table_open(relation, NoLock);
    *defect = describe(rule, opened, leaf);
    if (must_serve && *defect != Defect::none) refuse(*defect, opened, *leaf);
    table_close(opened, NoLock);
  });
  return Opening::open;
}

bool find_smallest(const Leaf &leaf, TimestampTz now, bool expired, TimestampTz *at) {
  bool found = false;
  bool *result = &found;
  server::as_owner(leaf.owner, [&leaf, now, expired, at, result] {
    Relation heap = table_open(leaf.relation, NoLock);
    Datum value;
    PushActiveSnapshot(GetTransactionSnapshot());
    *result = smallest(heap, leaf.index, leaf.type, expired_up_to(*leaf.rule, leaf.type, now),
                       expired, &value);
    PopActiveSnapshot();
    table_close(heap, NoLock);
    if (*result) *at = expiry_of(*leaf.rule, leaf.type, value);
  });
  return found;
}

void keep_address(TupleTableSlot *slot, void *argument) {
  auto *addresses = static_cast<Addresses *>(argument);
  addresses->tids[addresses->count++] = slot->tts_tid;
}

// With a literal, so that the planner has the value to look up in its histogram.
const char *expired_rows(const Leaf &leaf, TimestampTz now) {
  Oid output;
  bool varlena;
  getTypeOutputInfo(leaf.type, &output, &varlena);
  const char *limit = OidOutputFunctionCall(output, expired_up_to(*leaf.rule, leaf.type, now));
  return psprintf("SELECT FROM ONLY %s WHERE %s OPERATOR(pg_catalog.<=) %s::%s", leaf.name,
                  quote_identifier(leaf.column), quote_literal_cstr(limit),
                  format_type_be_qualified(leaf.type));
}

double planned_rows(const char *sql) {
  SPI_connect();
  SPIPlanPtr plan = SPI_prepare(sql, 0, nullptr);
  if (plan == nullptr) elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
  CachedPlan *cached = SPI_plan_get_cached_plan(plan);
  if (cached == nullptr) elog(ERROR, "there is no plan for \"%s\"", sql);
  const double rows = linitial_node(PlannedStmt, cached->stmt_list)->planTree->plan_rows;
  server::release_unsaved_plan(cached);
  SPI_finish();
  return rows;
}

}  // namespace

Opening open_leaf(const Rule &rule, Oid relation, LeafUse use, Leaf *leaf) {
  if (!lock(relation, use) || !lock_ancestors(relation)) return Opening::busy;
  Defect defect;
  return examine(rule, relation, true, leaf, &defect);
}

bool can_expire(const Rule &rule, Oid relation) {
  if (!lock(relation, LeafUse::look)) return true;
  Leaf leaf;
  Defect defect = Defect::none;
  (void)examine(rule, relation, false, &leaf, &defect);
  return defect == Defect::none;
}

void find_expired(const Leaf &leaf, TimestampTz now, Cursor *cursor, Addresses *addresses) {
  server::as_owner(leaf.owner, [&leaf, now, cursor, addresses] {
    Relation heap = table_open(leaf.relation, NoLock);
    PushActiveSnapshot(GetTransactionSnapshot());
    addresses->complete =
        walk(heap, leaf.index, leaf.type, expired_up_to(*leaf.rule, leaf.type, now), cursor,
             addresses->room - addresses->count, keep_address, addresses);
    PopActiveSnapshot();
    table_close(heap, NoLock);
  });
}

bool oldest_expired(const Leaf &leaf, TimestampTz now, TimestampTz *expired_at) {
  return find_smallest(leaf, now, true, expired_at);
}

bool next_expiry(const Leaf &leaf, TimestampTz now, TimestampTz *expires_at) {
  return find_smallest(leaf, now, false, expires_at);
}

std::int64_t estimate_backlog(const Leaf &leaf, TimestampTz now) {
  double rows = 0;
  double *result = &rows;
  server::as_owner(leaf.owner, [&leaf, now, result] {
    // Other styles write time zones that cannot be read again. Undone with the rest.
    (void)set_config_option("DateStyle", "ISO", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true,
                            0, false);
    *result = planned_rows(expired_rows(leaf, now));
  });
  return static_cast<std::int64_t>(rows);
}

}  // namespace idem::cleanup
