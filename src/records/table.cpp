#include "records/table.hpp"

#include "server/prelude.hpp"

namespace idem::records {

namespace {

constexpr const char *kColumnNames[kColumns] = {
    "scope",      "key",          "status",      "token",
    "attempt",    "owner",        "created_at",  "lease_expires_at",
    "expires_at", "completed_at", "fingerprint", "code",
    "result",     "body",         "checkpoint",  "checkpoint_data"};

// The function that `cached` was made for, or InvalidOid when there is nothing cached.
Oid cached_for = InvalidOid;
RecordsTable cached;
// Set by every invalidation, so that a look-up notices one that arrives while it reads.
bool disturbed = false;

void on_relation_change(Datum, Oid relid) {
  disturbed = true;
  // DROP EXTENSION drops these too, so nothing else of the extension needs watching.
  if (!OidIsValid(relid) || relid == cached.records || relid == cached.primary_key)
    cached_for = InvalidOid;
}

void watch() {
  static bool watching = false;
  if (watching) return;
  CacheRegisterRelcacheCallback(on_relation_change, Datum{0});
  watching = true;
}

Oid relation_named(const char *name, Oid schema) {
  const Oid relid = get_relname_relid(name, schema);
  if (!OidIsValid(relid)) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
                    errmsg("relation \"%s.%s\" does not exist", get_namespace_name(schema), name),
                    errhint("It belongs to the extension pg_idem; restore it, or re-create the "
                            "extension.")));
  }
  return relid;
}

Oid type_named(const char *name, Oid schema) {
  const Oid type = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum(name),
                                   ObjectIdGetDatum(schema));
  if (!OidIsValid(type))
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
                    errmsg("type \"%s.%s\" does not exist", get_namespace_name(schema), name)));
  return type;
}

bool is_key_index(Relation index, const AttrNumber *columns) {
  const Form_pg_index form = index->rd_index;
  return index->rd_rel->relam == BTREE_AM_OID && form->indisunique && form->indisvalid &&
         form->indimmediate && form->indnkeyatts == 2 &&
         form->indkey.values[0] == columns[static_cast<int>(Column::key)] &&
         form->indkey.values[1] == columns[static_cast<int>(Column::scope)] &&
         RelationGetIndexPredicate(index) == NIL && index->rd_indcollation[0] == C_COLLATION_OID &&
         index->rd_indcollation[1] == C_COLLATION_OID;
}

Oid key_index_of(Relation records, const AttrNumber *columns) {
  Oid found = InvalidOid;
  List *indexes = RelationGetIndexList(records);
  ListCell *cell;
  foreach (cell, indexes) {
    Relation index = index_open(lfirst_oid(cell), AccessShareLock);
    if (is_key_index(index, columns)) found = RelationGetRelid(index);
    index_close(index, AccessShareLock);
  }
  list_free(indexes);
  return found;
}

bool has_only_our_columns(Relation records) {
  const TupleDesc descriptor = RelationGetDescr(records);
  const TupleConstr *constraints = descriptor->constr;
  return descriptor->natts == kColumns &&
         (constraints == nullptr ||
          (constraints->num_check == 0 && !constraints->has_generated_stored));
}

bool is_plain(Relation records) {
  return has_only_our_columns(records) && records->trigdesc == nullptr &&
         records->rd_rules == nullptr && !records->rd_rel->relispartition &&
         records->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT;
}

void describe_records(RecordsTable &table) {
  for (int i = 0; i < kColumns; i++) {
    table.columns[i] = get_attnum(table.records, kColumnNames[i]);
    if (table.columns[i] == InvalidAttrNumber)
      ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
                      errmsg("column \"%s\" of relation \"%s\" does not exist", kColumnNames[i],
                             get_rel_name(table.records))));
  }
  Relation records = table_open(table.records, AccessShareLock);
  table.home.owner = records->rd_rel->relowner;
  if (records->rd_rel->relkind == RELKIND_RELATION && records->rd_rel->relam == HEAP_TABLE_AM_OID)
    table.primary_key = key_index_of(records, table.columns);
  table.direct = OidIsValid(table.primary_key);
  table.plain = table.direct && is_plain(records);
  table_close(records, NoLock);
}

RecordsTable look_up(Oid function) {
  RecordsTable table = {};
  table.home.schema = get_func_namespace(function);
  table.records = relation_named("idem_records", table.home.schema);
  table.tokens = relation_named("idem_tokens", table.home.schema);
  table.scopes = relation_named("idem_scopes", table.home.schema);
  table.claim_type = type_named("idem_claim", table.home.schema);
  table.record_type = type_named("idem_record", table.home.schema);
  describe_records(table);
  return table;
}

}  // namespace

RecordsTable records_table(FunctionCallInfo fcinfo) {
  const Oid function = fcinfo->flinfo->fn_oid;
  if (cached_for != InvalidOid &&
      (cached_for == function || get_func_namespace(function) == cached.home.schema))
    return cached;
  watch();
  disturbed = false;
  const RecordsTable table = look_up(function);
  if (!disturbed) {
    cached = table;
    cached_for = function;
  }
  return table;
}

}  // namespace idem::records
