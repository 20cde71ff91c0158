// The settings idem.producer*. The server writes these variables; everyone else reads them.

#pragma once

namespace idem::streams {

struct Settings {
  int producer_retain;  // seconds
};

extern Settings settings;

// Registers the settings with the server. Call once, from _PG_init.
void define_settings();

}  // namespace idem::streams
