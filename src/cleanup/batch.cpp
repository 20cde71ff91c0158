#include "cleanup/batch.hpp"

#include "cleanup/removal.hpp"
#include "records/archive.hpp"
#include "server/compat.hpp"
#include "server/guard.hpp"
#include "server/inheritance.hpp"
#include "server/names.hpp"
#include "server/owner.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

namespace {

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

const char *archive_of(const Leaf &leaf) {
  const Oid archive = leaf.rule->archive;
  const char *name = server::qualified_name(archive);
  if (name == nullptr)
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("the archive of table %s does not exist any more", leaf.name),
                    errhint("Call idem_expire_attach again with another one.")));
  // It may have become one since it was accepted, and rows would go round for ever.
  if (server::descends_from(archive, leaf.rule->table))
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("the archive of table %s has become a part of it", leaf.name),
                    errhint("Detach it, or call idem_expire_attach again with another one.")));
  return name;
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

// `target` and `source` complete INSERT INTO ... SELECT ... for the rows in `gone`. The query gives
// how many are gone, and how many were kept.
const char *move(const Leaf &leaf, const char *target, const char *source) {
  return psprintf(
      "WITH gone AS (%s RETURNING *), kept AS (INSERT INTO %s SELECT %s RETURNING 1)"
      " SELECT (SELECT pg_catalog.count(*) FROM gone), (SELECT pg_catalog.count(*) FROM kept)",
      deletion(leaf), target, source);
}

const char *move_to_archive(const Leaf &leaf) {
  const char *columns = columns_of(leaf.relation);
  return move(leaf, psprintf("%s (%s) OVERRIDING SYSTEM VALUE", archive_of(leaf), columns),
              psprintf("%s FROM gone", columns));
}

// For records $1 is the present.
const char *move_records(const Premises &premises, const Leaf &leaf) {
  const char *schema = quote_identifier(get_namespace_name(premises.home.schema));
  return move(leaf, psprintf("%s.idem_archive (archived_at, " IDEM_RECORD_COLUMNS ")", schema),
              psprintf("$1, " IDEM_RECORD_COLUMNS " FROM gone WHERE EXISTS (SELECT FROM"
                       " %s.idem_scopes AS s WHERE s.scope OPERATOR(pg_catalog.=) gone.scope"
                       " AND s.on_expiry OPERATOR(pg_catalog.=) 'archive')",
                       schema));
}

Datum array_of(const ItemPointerData *tids, int count) {
  auto *datums = static_cast<Datum *>(palloc(sizeof(Datum) * static_cast<Size>(count)));
  for (int i = 0; i < count; i++) datums[i] = PointerGetDatum(&tids[i]);
  return PointerGetDatum(
      construct_array(datums, count, TIDOID, sizeof(ItemPointerData), false, TYPALIGN_SHORT));
}

// A plan for any list of addresses, made while the planner may not prefer to read the whole table,
// which is what it thinks of a thousand random pages. Triggers do not see that setting.
SPIPlanPtr plan_by_address(const char *sql, Oid type) {
  Oid types[] = {type, TIDARRAYOID};
  const int level = NewGUCNestLevel();
  for (const char *setting : {"enable_seqscan", "enable_bitmapscan", "enable_indexscan"})
    (void)set_config_option(setting, "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
                            false);
  (void)set_config_option("enable_tidscan", "on", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true,
                          0, false);
  SPIPlanPtr plan = SPI_prepare_cursor(sql, 2, types, CURSOR_OPT_GENERIC_PLAN);
  if (plan == nullptr) elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
  server::release_unsaved_plan(SPI_plan_get_cached_plan(plan));
  AtEOXact_GUC(false, level);
  return plan;
}

struct Moved {
  std::int64_t gone;
  std::int64_t kept;
};

Moved read_moved() {
  bool isnull;
  const HeapTuple tuple = SPI_tuptable->vals[0];
  return {DatumGetInt64(SPI_getbinval(tuple, SPI_tuptable->tupdesc, 1, &isnull)),
          DatumGetInt64(SPI_getbinval(tuple, SPI_tuptable->tupdesc, 2, &isnull))};
}

Moved execute(const char *sql, Oid type, Datum limit, Datum tids) {
  Datum values[] = {limit, tids};
  SPI_connect();
  const int code = SPI_execute_plan(plan_by_address(sql, type), values, nullptr, false, 0);
  if (code < 0) elog(ERROR, "SPI_execute_plan failed: %s", SPI_result_code_string(code));
  const Moved moved =
      code == SPI_OK_SELECT ? read_moved() : Moved{static_cast<std::int64_t>(SPI_processed), 0};
  SPI_finish();
  return moved;
}

Moved execute_as_owner(const Leaf &leaf, const char *sql, Datum limit, Datum tids) {
  Moved moved = {};
  Moved *result = &moved;
  const Oid type = leaf.type;
  server::as_owner(leaf.owner, [=] { *result = execute(sql, type, limit, tids); });
  return moved;
}

// A trigger on the archive may have turned rows away.
void require_kept(const Leaf &leaf, const Moved &moved) {
  if (moved.kept == moved.gone) return;
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("the archive of table %s did not take all rows", leaf.name),
                  errdetail("It took %lld of %lld.", static_cast<long long>(moved.kept),
                            static_cast<long long>(moved.gone)),
                  errhint("Look for a trigger on the archive that skips rows.")));
}

void require_insertable(const Leaf &leaf, Oid archive) {
  if (pg_class_aclcheck(archive, leaf.owner, ACL_INSERT) == ACLCHECK_OK) return;
  ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                  errmsg("the owner of table %s may not insert into archive \"%s\"", leaf.name,
                         get_rel_name(archive)),
                  errhint("GRANT INSERT ON %s TO %s;", server::qualified_name(archive),
                          quote_identifier(GetUserNameFromId(leaf.owner, false)))));
}

// Whether a column of the table can be stored in the archive.
bool has_place(const FormData_pg_attribute *attribute, Oid archive) {
  const AttrNumber there = get_attnum(archive, NameStr(attribute->attname));
  return there > 0 && get_atttype(archive, there) == attribute->atttypid &&
         get_attgenerated(archive, there) == '\0';
}

}  // namespace

std::int64_t expire(const Premises &premises, const Leaf &leaf, TimestampTz now,
                    const ItemPointerData *tids, int count) {
  if (may_remove_directly(leaf)) return remove_at(leaf, now, tids, count);
  const Datum limit = expired_up_to(*leaf.rule, leaf.type, now);
  const Datum array = array_of(tids, count);
  if (!OidIsValid(leaf.rule->archive))
    return execute_as_owner(leaf, deletion(leaf), limit, array).gone;
  if (leaf.rule->records) {
    server::provide_partitions(records::kArchive, premises.home, now);
    return execute_as_owner(leaf, move_records(premises, leaf), limit, array).gone;
  }
  const Moved moved = execute_as_owner(leaf, move_to_archive(leaf), limit, array);
  require_kept(leaf, moved);
  return moved.gone;
}

void require_fitting_archive(const Leaf &leaf) {
  const Oid archive = leaf.rule->archive;
  require_insertable(leaf, archive);
  Relation opened = table_open(leaf.relation, NoLock);
  const TupleDesc descriptor = RelationGetDescr(opened);
  for (int i = 0; i < descriptor->natts; i++) {
    const FormData_pg_attribute *attribute = TupleDescAttr(descriptor, i);
    if (attribute->attisdropped || attribute->attgenerated != '\0' || has_place(attribute, archive))
      continue;
    ereport(ERROR,
            (errcode(server::errcode_of(sqlstate::kBadArgument)),
             errmsg("archive \"%s\" cannot store column \"%s\" of type %s", get_rel_name(archive),
                    NameStr(attribute->attname), format_type_be(attribute->atttypid)),
             errhint("CREATE TABLE ... (LIKE %s) makes a table that fits.", leaf.name)));
  }
  table_close(opened, NoLock);
}

}  // namespace idem::cleanup
