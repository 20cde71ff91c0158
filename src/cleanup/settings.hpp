// The settings idem.cleanup*, and what they mean at this moment.

#pragma once

#include "cleanup/schedule.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

// The server writes these; everyone else reads them.
struct Settings {
  bool enabled;
  int naptime;  // seconds
  int batch;    // rows
  int rows_per_second;
  char *window;
  char *databases;
  int max_workers;
  int archive_retention;  // seconds, or -1: for ever
  int history_retention;  // likewise
};

extern Settings settings;

// Registers the settings with the server. Call once, from _PG_init.
void define_settings();

Micros naptime();

// How long cleanup may run from now on, by idem.cleanup_window in this process's time zone; 0 when
// the window is closed.
Micros window_open_for();

// How long until the window opens; 0 when it is open.
Micros window_opens_in();

// Whether idem.cleanup_databases lets the worker into the database of this name.
bool serves_database(const char *name);

}  // namespace idem::cleanup
