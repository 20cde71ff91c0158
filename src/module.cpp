#include "records/positions.hpp"
#include "server/guard.hpp"
#include "server/settings.hpp"

extern "C" {
#ifdef PG_MODULE_MAGIC_EXT
PG_MODULE_MAGIC_EXT(.name = "pg_idem", .version = IDEM_VERSION);
#else
PG_MODULE_MAGIC;
#endif

PGDLLEXPORT void _PG_init(void);
}

namespace {

void start() {
  idem::server::define_settings();
  if (process_shared_preload_libraries_in_progress) idem::records::reserve_shared_positions();
}

}  // namespace

void _PG_init(void) {
  idem::server::outward(start);
}
