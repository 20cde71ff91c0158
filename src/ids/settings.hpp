// The settings of ids.

#pragma once

namespace idem::ids {

// The server writes these; everyone else reads them.
struct Settings {
  int node_id;         // kNoNode: not set
  int max_clock_back;  // milliseconds
};

inline constexpr int kNoNode = -1;

extern Settings settings;

// Registers the settings with the server. Call once, from _PG_init.
void define_settings();

}  // namespace idem::ids
