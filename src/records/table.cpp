#include "records/table.hpp"

#include "server/objects.hpp"
#include "server/prelude.hpp"

namespace idem::records {

namespace {

constexpr const char *kTable = "idem_records";

constexpr Oid kColumnTypes[kColumns] = {
    TEXTOID,        TEXTOID,        TEXTOID,        INT8OID,        INT4OID,  TEXTOID,
    TIMESTAMPTZOID, TIMESTAMPTZOID, TIMESTAMPTZOID, TIMESTAMPTZOID, BYTEAOID, INT4OID,
    JSONBOID,       BYTEAOID,       TEXTOID,        JSONBOID};

constexpr const char *kColumnNames[kColumns] = {
    "scope",      "key",          "status",      "token",
    "attempt",    "owner",        "created_at",  "lease_expires_at",
    "expires_at", "completed_at", "fingerprint", "code",
    "result",     "body",         "checkpoint",  "checkpoint_data"};

// The function that asked last, to spare the next call a look-up of its schema.
Oid cached_for = InvalidOid;
// Valid while its generation is the present one.
RecordsTable cached;
uint64 generation = 1;
// What a change of is a new generation. Set before they are read, so that no change is missed.
Oid watched_records = InvalidOid;
Oid watched_key = InvalidOid;

void on_relation_change(Datum, Oid relid) {
  // DROP EXTENSION drops these too, so nothing else of the extension needs watching.
  if (!OidIsValid(relid) || relid == watched_records || relid == watched_key) generation++;
}

void watch() {
  static bool watching = false;
  if (watching) return;
  CacheRegisterRelcacheCallback(on_relation_change, Datum{0});
  watching = true;
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
  return server::find_index(records,
                            [columns](Relation index) { return is_key_index(index, columns); });
}

void describe_records(RecordsTable &table) {
  for (int i = 0; i < kColumns; i++)
    table.columns[i] =
        server::column_named(table.records, kTable, kColumnNames[i], kColumnTypes[i]);
  Relation records = table_open(table.records, NoLock);
  table.home.owner = records->rd_rel->relowner;
  if (records->rd_rel->relkind == RELKIND_RELATION && records->rd_rel->relam == HEAP_TABLE_AM_OID)
    table.primary_key = key_index_of(records, table.columns);
  table.direct = OidIsValid(table.primary_key);
  table.plain = table.direct && server::is_plain_table(records, kColumns);
  table_close(records, NoLock);
  watched_key = table.primary_key;
}

RecordsTable look_up(Oid schema, LOCKMODE mode) {
  watch();
  RecordsTable table = {};
  table.home.schema = schema;
  table.records = server::lock_named(kTable, schema, mode, &watched_records);
  table.generation = generation;
  table.tokens = server::relation_named("idem_tokens", schema);
  table.scopes = server::relation_named("idem_scopes", schema);
  table.claim_type = server::type_named("idem_claim", schema);
  table.record_type = server::type_named("idem_record", schema);
  describe_records(table);
  cached = table;
  if (on_look_up != nullptr) on_look_up();
  return table;
}

// The lock keeps everything out that would matter, but something may have come before it.
void describe_locked(RecordsTable &table, LOCKMODE mode) {
  const bool newest = table.home.newest;
  while (table.generation != generation) {
    UnlockRelationOid(table.records, mode);
    table = look_up(table.home.schema, mode);
  }
  table.home.newest = newest;
}

}  // namespace

void (*on_look_up)() = nullptr;

RecordsTable records_table(FunctionCallInfo fcinfo, LOCKMODE mode) {
  const Oid function = fcinfo->flinfo->fn_oid;
  RecordsTable table = cached;
  if (cached_for != function || cached.generation != generation) {
    const Oid schema = get_func_namespace(function);
    if (cached.home.schema != schema || cached.generation != generation)
      table = look_up(schema, AccessShareLock);
    cached_for = function;
  }
  lock_records(table, mode);
  return table;
}

void lock_records(RecordsTable &table, LOCKMODE mode) {
  LockRelationOid(table.records, mode);
  describe_locked(table, mode);
}

bool try_lock_records(RecordsTable &table, LOCKMODE mode) {
  if (!ConditionalLockRelationOid(table.records, mode)) return false;
  describe_locked(table, mode);
  return true;
}

}  // namespace idem::records
