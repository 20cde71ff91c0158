#include "streams/store.hpp"

#include "server/prelude.hpp"
#include "server/settings.hpp"
#include "server/statement.hpp"
#include "streams/by_sql.hpp"
#include "streams/direct.hpp"

namespace idem::streams {

namespace {

using server::Statement;

// $3 and $4 are the least and the most that expires_at may be; see keep_until.
#define KEEP(column)                                            \
  "CASE WHEN " column " OPERATOR(pg_catalog.>=) $3 AND " column \
  " OPERATOR(pg_catalog.<=) $4"                                 \
  " THEN " column " ELSE $4 END"
#define REGISTRATION " RETURNING producer_id, epoch, last_seq"

Statement again_statement = {
    "UPDATE @idem_producers SET epoch = epoch OPERATOR(pg_catalog.+) 1, expires_at = " KEEP(
        "expires_at") " WHERE stream OPERATOR(pg_catalog.=) $1 AND producer OPERATOR(pg_catalog.=)"
                      " $2 AND epoch OPERATOR(pg_catalog.<) 2147483647" REGISTRATION,
    4,
    {TEXTOID, TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID}};

// A producer that has had all epochs goes on under another id.
Statement insert_statement = {
    "INSERT INTO @idem_producers AS p (producer_id, stream, producer, created_at, expires_at,"
    " epoch, last_seq, firsts, lasts) VALUES ($5, $1, $2, pg_catalog.clock_timestamp(), $4, 1, 0,"
    " '{}', '{}') ON CONFLICT (stream, producer) DO UPDATE SET"
    " epoch = CASE WHEN p.epoch OPERATOR(pg_catalog.<) 2147483647"
    " THEN p.epoch OPERATOR(pg_catalog.+) 1 ELSE 1 END,"
    " producer_id = CASE WHEN p.epoch OPERATOR(pg_catalog.<) 2147483647"
    " THEN p.producer_id ELSE EXCLUDED.producer_id END,"
    " expires_at = " KEEP("p.expires_at") REGISTRATION,
    5,
    {TEXTOID, TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID, INT8OID}};

#undef KEEP
#undef REGISTRATION

Datum returned(int column) {
  bool isnull;
  return SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, &isnull);
}

bool registers(Statement &statement, const StreamTables &tables, Datum *values,
               Registration *registration) {
  SPI_connect();
  const bool done = server::run(statement, tables.home, values, nullptr, false, 0) == 1;
  if (done)
    *registration = {DatumGetInt64(returned(1)), DatumGetInt32(returned(2)),
                     DatumGetInt64(returned(3))};
  SPI_finish();
  return done;
}

}  // namespace

void consult(const StreamTables &tables, const text *stream, std::int64_t id, Judge judge,
             void *argument) {
  if (tables.plain && server::settings.direct_access)
    consult_directly(tables, stream, id, judge, argument);
  else
    consult_by_sql(tables, stream, id, judge, argument);
}

Registration register_producer(const StreamTables &tables, const text *stream, const text *producer,
                               Micros retain, TimestampTz now) {
  // What keep_until makes of a time that is long over is the most there may be.
  const Micros most = keep_until(now, retain, now);
  const Micros least = retain == kForever ? kForever : now + retain;
  Datum values[] = {PointerGetDatum(stream), PointerGetDatum(producer), TimestampTzGetDatum(least),
                    TimestampTzGetDatum(most), Datum{0}};
  Registration registration = {};
  if (registers(again_statement, tables, values, &registration)) return registration;
  values[4] = Int64GetDatum(nextval_internal(tables.ids, false));
  (void)registers(insert_statement, tables, values, &registration);
  return registration;
}

}  // namespace idem::streams
