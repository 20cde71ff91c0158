#include "records/archive.hpp"

#include "server/prelude.hpp"

namespace idem::records {

namespace {

server::Statement archives_statement = {
    "SELECT FROM @idem_scopes WHERE on_expiry OPERATOR(pg_catalog.=) 'archive'", 0, {}};

}  // namespace

bool archives_records(const server::Home &home) {
  SPI_connect();
  const bool some = server::run(archives_statement, home, nullptr, nullptr, false, 1) > 0;
  SPI_finish();
  return some;
}

}  // namespace idem::records
