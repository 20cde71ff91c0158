// idem_durable_locks: the records of durable locks that are held now. A function, because a view
// over idem_records would stand in the way of whoever alters or replaces that table.

#include "locks/held.hpp"
#include "records/table.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "server/rows.hpp"
#include "server/statement.hpp"

namespace {

constexpr int kColumns = 8;

idem::server::Statement held_statement = {
    "SELECT key, owner, token, created_at, lease_expires_at,"
    " GREATEST(lease_expires_at OPERATOR(pg_catalog.-) pg_catalog.clock_timestamp(), '0'),"
    " @idem_lock_hash(key), checkpoint_data"
    " FROM @idem_records WHERE " IDEM_LOCK_IS_HELD,
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
