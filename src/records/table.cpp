#include "records/table.hpp"

#include "server/described_table.hpp"
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

void describe_columns(RecordsTable &table) {
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
}

Oid describe(RecordsTable &table) {
  const Oid schema = table.home.schema;
  table.tokens = server::relation_named("idem_tokens", schema);
  table.scopes = server::relation_named("idem_scopes", schema);
  table.claim_type = server::type_named("idem_claim", schema);
  table.record_type = server::type_named("idem_record", schema);
  describe_columns(table);
  if (on_look_up != nullptr) on_look_up();
  return table.primary_key;
}

server::DescribedTable<RecordsTable, &RecordsTable::records> records_tables(kTable, describe);

}  // namespace

void (*on_look_up)() = nullptr;

RecordsTable records_table(FunctionCallInfo fcinfo, LOCKMODE mode) {
  RecordsTable table = records_tables.beside(fcinfo->flinfo->fn_oid);
  lock_records(table, mode);
  return table;
}

void lock_records(RecordsTable &table, LOCKMODE mode) {
  records_tables.lock(table, mode);
}

bool try_lock_records(RecordsTable &table, LOCKMODE mode) {
  return records_tables.try_lock(table, mode);
}

}  // namespace idem::records
