// idem_durable_locks: the records of durable locks that are held now. A function, because a view
// over idem_records would stand in the way of whoever alters or replaces that table.

#include "records/table.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "server/rows.hpp"
#include "server/statement.hpp"

namespace {

constexpr int kColumns = 8;

// A lock that was lost stays shut for the milliseconds in its code, one that rests has a code
// although it was released.
idem::server::Statement held_statement = {
    "SELECT key, owner, token, created_at, lease_expires_at,"
    " GREATEST(lease_expires_at OPERATOR(pg_catalog.-) pg_catalog.clock_timestamp(), '0'),"
    " @idem_lock_hash(key), checkpoint_data"
    " FROM @idem_records WHERE scope OPERATOR(pg_catalog.=) 'idem.lock'"
    " AND (status OPERATOR(pg_catalog.=) 'in_progress'"
    " OR status OPERATOR(pg_catalog.=) 'released' AND code IS NOT NULL)"
    " AND lease_expires_at OPERATOR(pg_catalog.+) pg_catalog.make_interval(secs =>"
    " COALESCE(code, 0) OPERATOR(pg_catalog./) 1000.0)"
    " OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()",
    0,
    {}};

}  // namespace

IDEM_FUNCTION(idem_durable_locks) {
  const idem::server::Rows rows = idem::server::begin_rows(fcinfo);
  const auto table = idem::records::records_table(fcinfo, AccessShareLock);
  SPI_connect();
  const uint64 count = idem::server::run(held_statement, table.home, nullptr, nullptr, true, 0);
  for (uint64 i = 0; i < count; i++) {
    Datum values[kColumns];
    bool nulls[kColumns];
    for (int column = 0; column < kColumns; column++)
      values[column] =
          SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, column + 1, &nulls[column]);
    rows.add(values, nulls);
  }
  SPI_finish();
  return Datum{0};
}
