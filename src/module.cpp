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

void _PG_init(void) {
  idem::server::outward(idem::server::define_settings);
}
