#include "streams/by_sql.hpp"

#include "server/prelude.hpp"
#include "server/statement.hpp"
#include "streams/refusal.hpp"

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

Statement write_statement = {
    "UPDATE @idem_producers SET expires_at = $3, last_seq = $4, firsts = $5, lasts = $6,"
    " hashes = $7, results = $8 WHERE " THE_PRODUCER,
    8,
    {TEXTOID, INT8OID, TIMESTAMPTZOID, INT8OID, INT8ARRAYOID, INT8ARRAYOID, BYTEAARRAYOID,
     JSONBARRAYOID}};

#undef THE_PRODUCER

constexpr Column kWritten[] = {Column::expires_at, Column::last_seq, Column::firsts,
                               Column::lasts,      Column::hashes,   Column::results};

// One row, its values in the order of Column.
struct Row {
  HeapTuple tuple;
  Datum values[kColumns];
  bool nulls[kColumns];
};

// Finds the row, and leaves it in the caller's memory context.
bool find(Statement &statement, const server::Home &home, Datum *id, Row *row) {
  SPI_connect();
  const bool found = server::run(statement, home, id, nullptr, false, 1) == 1;
  if (found) {
    row->tuple = SPI_copytuple(SPI_tuptable->vals[0]);
    heap_deform_tuple(row->tuple, SPI_tuptable->tupdesc, row->values, row->nulls);
  }
  SPI_finish();
  return found;
}

// Both were formed from the same columns, so that equal values make equal bytes.
bool same_bytes(HeapTuple one, HeapTuple other) {
  const Size start = offsetof(HeapTupleHeaderData, t_bits);
  return one->t_len == other->t_len && one->t_data->t_hoff == other->t_data->t_hoff &&
         memcmp(reinterpret_cast<char *>(one->t_data) + start,
                reinterpret_cast<char *>(other->t_data) + start, one->t_len - start) == 0;
}

// What a transaction-wide snapshot shows may be over. False when there is no such producer now.
bool look(const StreamTables &tables, Datum *id, Row *row) {
  server::Home home = tables.home;
  home.newest = true;
  if (!find(look_statement, home, id, row)) return false;
  Row known;
  if (IsolationUsesXactSnapshot() &&
      (!find(look_statement, tables.home, id, &known) || !same_bytes(row->tuple, known.tuple)))
    refuse_changed();
  return true;
}

void write(const StreamTables &tables, const Datum *id, const Producer &producer, Row &row) {
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
bool is_settled(const StreamTables &tables, Datum *id, Judge judge, void *argument) {
  Row row;
  if (!look(tables, id, &row)) {
    // In an old snapshot the statement that locks would find it still, and fail.
    if (IsolationUsesXactSnapshot()) (void)judge(nullptr, true, argument);
    return IsolationUsesXactSnapshot();
  }
  Producer producer = read_producer(row.values, row.nulls);
  return judge(&producer, false, argument) == Ruling::leave;
}

}  // namespace

void consult_by_sql(const StreamTables &tables, const text *stream, std::int64_t id, Judge judge,
                    void *argument) {
  Datum identity[] = {PointerGetDatum(stream), Int64GetDatum(id)};
  if (is_settled(tables, identity, judge, argument)) return;
  Row row;
  if (!find(lock_statement, tables.home, identity, &row)) {
    (void)judge(nullptr, true, argument);
    return;
  }
  Producer producer = read_producer(row.values, row.nulls);
  if (judge(&producer, true, argument) == Ruling::write) write(tables, identity, producer, row);
}

}  // namespace idem::streams
