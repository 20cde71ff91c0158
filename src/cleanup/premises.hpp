// The extension in the worker's own database: whether it is there, and whether it may be worked on
// now.

#pragma once

#include "server/prelude.hpp"
#include "server/statement.hpp"

namespace idem::cleanup {

enum class Entry {
  open,
  no_extension,
  other_version,   // objects that this library needs are not there
  extension_busy,  // it, its schema or a table of it is being dropped or altered
  database_busy,   // being dropped, renamed, moved or copied
  paused
};

struct Premises {
  server::Home home;
  Oid records;
  Oid producers;
  Oid archive;
  Oid expiries;
  Oid paused;
  Oid scopes;
};

// Looks whether somebody wants the database for himself, finds the extension and takes, without
// waiting, locks that keep it, its schema and what every batch reads in place until the transaction
// ends. Call it first in every transaction of a worker, with a snapshot pushed. `premises` is
// filled only when open or paused.
Entry enter(Premises *premises);

// The same for a session that calls a function of the extension: nothing to lock, nothing to wait
// for. Raises 42P01 when objects are missing.
Premises premises_of(FunctionCallInfo fcinfo);

bool is_paused(const Premises &premises);

// Waits for the batch under way and keeps the next one from starting until the transaction ends,
// for whoever is about to pause.
void stop_batches(const Premises &premises);

}  // namespace idem::cleanup
