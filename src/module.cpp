#include "cleanup/launcher.hpp"
#include "cleanup/settings.hpp"
#include "cleanup/shared.hpp"
#include "ids/settings.hpp"
#include "locks/registry.hpp"
#include "locks/settings.hpp"
#include "records/positions.hpp"
#include "records/table.hpp"
#include "records/wake.hpp"
#include "server/compat.hpp"
#include "server/guard.hpp"
#include "server/settings.hpp"
#include "streams/settings.hpp"

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
  idem::cleanup::define_settings();
  idem::locks::define_settings();
  idem::streams::define_settings();
  idem::ids::define_settings();
  idem::server::reserve_setting_prefix("idem");
  if (!process_shared_preload_libraries_in_progress) return;
  idem::records::reserve_shared_positions();
  idem::records::reserve_wake_ups();
  idem::cleanup::reserve_shared_state();
  idem::locks::reserve_registry();
  idem::cleanup::register_launcher();
  idem::records::on_look_up = idem::cleanup::announce_extension;
}

}  // namespace

void _PG_init(void) {
  idem::server::outward(start);
}
