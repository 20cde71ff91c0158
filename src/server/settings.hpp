// The idem.* settings. The server writes these variables; everyone else reads them.

#pragma once

namespace idem::server {

struct Settings {
  int default_lease;             // seconds
  int default_retain;            // seconds
  int default_max_result_bytes;  // bytes
  bool direct_access;
  int position_cache_size;  // kB; known only when the library is preloaded
};

extern Settings settings;

// Registers the settings with the server. Call once, from _PG_init.
void define_settings();

}  // namespace idem::server
