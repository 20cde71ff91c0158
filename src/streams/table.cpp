#include "streams/table.hpp"

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

// Valid while its generation is the present one.
StreamTables cached;
// The function that asked last, to spare the next call a look-up of its schema.
Oid cached_for = InvalidOid;
uint64 generation = 1;
// What a change of is a new generation. Set before they are read, so that no change is missed.
Oid watched_producers = InvalidOid;
Oid watched_key = InvalidOid;

void on_relation_change(Datum, Oid relation) {
  // DROP EXTENSION drops these too, so nothing else of the extension needs watching.
  if (!OidIsValid(relation) || relation == watched_producers || relation == watched_key)
    generation++;
}

void watch() {
  static bool watching = false;
  if (watching) return;
  CacheRegisterRelcacheCallback(on_relation_change, Datum{0});
  watching = true;
}

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

void describe_producers(StreamTables &tables) {
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
  watched_key = tables.primary_key;
}

StreamTables look_up(Oid schema, LOCKMODE mode) {
  watch();
  StreamTables tables = {};
  tables.home.schema = schema;
  tables.producers = server::lock_named(kTable, schema, mode, &watched_producers);
  tables.generation = generation;
  tables.streams = server::relation_named("idem_streams", schema);
  tables.ids = server::relation_named("idem_producer_ids", schema);
  tables.acceptance_type = server::type_named("idem_acceptance", schema);
  describe_producers(tables);
  cached = tables;
  return tables;
}

// The lock keeps everything out that would matter, but something may have come before it.
void lock_described(StreamTables &tables, LOCKMODE mode) {
  LockRelationOid(tables.producers, mode);
  while (tables.generation != generation) {
    UnlockRelationOid(tables.producers, mode);
    tables = look_up(tables.home.schema, mode);
  }
}

}  // namespace

StreamTables stream_tables(FunctionCallInfo fcinfo, LOCKMODE mode) {
  const Oid function = fcinfo->flinfo->fn_oid;
  StreamTables tables = cached;
  if (cached_for != function || cached.generation != generation) {
    const Oid schema = get_func_namespace(function);
    if (cached.home.schema != schema || cached.generation != generation)
      tables = look_up(schema, AccessShareLock);
    cached_for = function;
  }
  if (mode != NoLock) lock_described(tables, mode);
  return tables;
}

}  // namespace idem::streams
