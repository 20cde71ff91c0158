#include "cleanup/batch.hpp"

#include "cleanup/archive.hpp"
#include "cleanup/removal.hpp"
#include "server/guard.hpp"
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
  const char *schema = get_namespace_name(get_rel_namespace(archive));
  const char *name = get_rel_name(archive);
  if (schema == nullptr || name == nullptr)
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("the archive of table %s does not exist any more", leaf.name),
                    errhint("Call idem_expire_attach again with another one.")));
  return quote_qualified_identifier(schema, name);
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
  return move(leaf, psprintf("%s (%s) OVERRIDING SYSTEM VALUE", archive_of(leaf), columns),
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

}  // namespace

std::int64_t expire(const Premises &premises, const Leaf &leaf, TimestampTz now,
                    const ItemPointerData *tids, int count) {
  if (may_remove_directly(premises, leaf)) return remove_at(leaf, now, tids, count);
  const bool archiving = leaf.rule->records && archives_records(premises);
  const char *sql = archiving                        ? move_records(premises, leaf)
                    : OidIsValid(leaf.rule->archive) ? move_to_archive(leaf)
                                                     : deletion(leaf);
  const Datum limit = expired_up_to(*leaf.rule, leaf.type, now);
  const Datum array = array_of(tids, count);
  std::int64_t rows = 0;
  std::int64_t *result = &rows;
  const Oid type = leaf.type;
  server::as_owner(leaf.owner, [=] { *result = execute(sql, type, limit, array); });
  return rows;
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
                            quote_identifier(get_rel_name(table)))));
  }
  table_close(opened, NoLock);
}

}  // namespace idem::cleanup
