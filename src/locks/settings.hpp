// The settings of locks.

#pragma once

namespace idem::locks {

// The server writes these; everyone else reads them.
struct Settings {
  int max_session_locks;  // names in use; known only when the library is preloaded
};

extern Settings settings;

// Registers the settings with the server. Call once, from _PG_init.
void define_settings();

}  // namespace idem::locks
