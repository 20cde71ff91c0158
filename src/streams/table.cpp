#include "streams/table.hpp"

#include "server/described_table.hpp"
#include "server/objects.hpp"
#include "server/prelude.hpp"

namespace idem::streams {

namespace {

constexpr const char *kTable = "idem_producers";

constexpr Oid kColumnTypes[kColumns] = {INT8OID,      TEXTOID,       TIMESTAMPTZOID,
                                        INT4OID,      INT8OID,       INT8ARRAYOID,
                                        INT8ARRAYOID, BYTEAARRAYOID, JSONBARRAYOID};

constexpr const char *kColumnNames[kColumns] = {"producer_id", "stream",   "expires_at",
                                                "epoch",       "last_seq", "firsts",
                                                "lasts",       "hashes",   "results"};

bool is_key_index(Relation index, AttrNumber producer_id) {
  const Form_pg_index form = index->rd_index;
  return index->rd_rel->relam == BTREE_AM_OID && form->indisunique && form->indisvalid &&
         form->indimmediate && form->indnkeyatts == 1 && form->indkey.values[0] == producer_id &&
         RelationGetIndexPredicate(index) == NIL;
}

Oid key_index_of(Relation producers, AttrNumber producer_id) {
  return server::find_index(
      producers, [producer_id](Relation index) { return is_key_index(index, producer_id); });
}

void describe_columns(StreamTables &tables) {
  for (int i = 0; i < kColumns; i++)
    tables.columns[i] =
        server::column_named(tables.producers, kTable, kColumnNames[i], kColumnTypes[i]);
  Relation producers = table_open(tables.producers, NoLock);
  tables.home.owner = producers->rd_rel->relowner;
  if (producers->rd_rel->relkind == RELKIND_RELATION &&
      producers->rd_rel->relam == HEAP_TABLE_AM_OID)
    tables.primary_key = key_index_of(producers, tables.columns[0]);
  tables.plain = OidIsValid(tables.primary_key) && server::is_plain_table(producers, kTableColumns);
  table_close(producers, NoLock);
}

Oid describe(StreamTables &tables) {
  const Oid schema = tables.home.schema;
  tables.streams = server::relation_named("idem_streams", schema);
  tables.ids = server::relation_named("idem_producer_ids", schema);
  tables.acceptance_type = server::type_named("idem_acceptance", schema);
  describe_columns(tables);
  return tables.primary_key;
}

server::DescribedTable<StreamTables, &StreamTables::producers> producers_tables(kTable, describe);

}  // namespace

StreamTables stream_tables(FunctionCallInfo fcinfo, LOCKMODE mode) {
  StreamTables tables = producers_tables.beside(fcinfo->flinfo->fn_oid);
  if (mode != NoLock) producers_tables.lock(tables, mode);
  return tables;
}

}  // namespace idem::streams
