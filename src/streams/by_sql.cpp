#include "streams/by_sql.hpp"

#include "server/prelude.hpp"
#include "server/statement.hpp"

namespace idem::streams {

namespace {

using server::Statement;

#define THE_PRODUCER "stream OPERATOR(pg_catalog.=) $1 AND producer_id OPERATOR(pg_catalog.=) $2"

// In the order of Column.
#define LOOK                                                                                \
  "SELECT producer_id, stream, expires_at, epoch, last_seq, firsts, lasts, hashes, results" \
  " FROM @idem_producers WHERE " THE_PRODUCER

Statement look_statement = {LOOK, 2, {TEXTOID, INT8OID}};
Statement lock_statement = {LOOK " FOR NO KEY UPDATE", 2, {TEXTOID, INT8OID}};

#undef LOOK

Statement exists_statement = {
    "SELECT FROM @idem_producers WHERE " THE_PRODUCER, 2, {TEXTOID, INT8OID}};

Statement write_statement = {
    "UPDATE @idem_producers SET expires_at = $3, last_seq = $4, firsts = $5, lasts = $6,"
    " hashes = $7, results = $8 WHERE " THE_PRODUCER,
    8,
    {TEXTOID, INT8OID, TIMESTAMPTZOID, INT8OID, INT8ARRAYOID, INT8ARRAYOID, BYTEAARRAYOID,
     JSONBARRAYOID}};

#undef THE_PRODUCER

constexpr Column kWritten[] = {Column::expires_at, Column::last_seq, Column::firsts,
                               Column::lasts,      Column::hashes,   Column::results};

// One row, in the order of Column.
struct Values {
  Datum values[kColumns];
  bool nulls[kColumns];
};

// Finds the row, and leaves it in the caller's memory context.
bool find(Statement &statement, const StreamTables &tables, Datum *id, Values *row) {
  SPI_connect();
  const bool found = server::run(statement, tables.home, id, nullptr, false, 1) == 1;
  if (found)
    heap_deform_tuple(SPI_copytuple(SPI_tuptable->vals[0]), SPI_tuptable->tupdesc, row->values,
                      row->nulls);
  SPI_finish();
  return found;
}

// The statement that locks sees no row that is newer than the transaction's snapshot.
void require_absent(const StreamTables &tables, Datum *id) {
  if (!IsolationUsesXactSnapshot()) return;
  server::Home home = tables.home;
  home.newest = true;
  SPI_connect();
  const bool found = server::run(exists_statement, home, id, nullptr, false, 1) == 1;
  SPI_finish();
  if (found)
    ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                    errmsg("could not serialize access: the producer changed after this "
                           "transaction's snapshot"),
                    errhint("Retry the transaction.")));
}

void write(const StreamTables &tables, const Datum *id, const Producer &producer, Values &row) {
  write_producer(producer, row.values, row.nulls);
  Datum parameters[8] = {id[0], id[1]};
  char nulls[] = "        ";
  for (int i = 0; i < 6; i++) {
    parameters[i + 2] = row.values[static_cast<int>(kWritten[i])];
    if (row.nulls[static_cast<int>(kWritten[i])]) nulls[i + 2] = 'n';
  }
  (void)server::execute(write_statement, tables.home, parameters, nulls);
}

// Whether there is nothing to write and nothing to wait for.
bool is_known(const StreamTables &tables, Datum *id, Judge judge, void *argument) {
  Values row;
  if (!find(look_statement, tables, id, &row)) return false;
  Producer producer = read_producer(row.values, row.nulls);
  return judge(&producer, false, argument) == Ruling::leave;
}

}  // namespace

void consult_by_sql(const StreamTables &tables, const text *stream, std::int64_t id, Judge judge,
                    void *argument) {
  Datum identity[] = {PointerGetDatum(stream), Int64GetDatum(id)};
  if (is_known(tables, identity, judge, argument)) return;
  Values row;
  if (!find(lock_statement, tables, identity, &row)) {
    require_absent(tables, identity);
    (void)judge(nullptr, true, argument);
    return;
  }
  Producer producer = read_producer(row.values, row.nulls);
  if (judge(&producer, true, argument) == Ruling::write) write(tables, identity, producer, row);
}

}  // namespace idem::streams
