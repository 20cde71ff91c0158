// The launcher: one process, connected to no database, that starts workers where and when there is
// something to do; see README.md.

#pragma once

namespace idem::cleanup {

// Registers the launcher with the postmaster. Call from _PG_init while the library is preloaded;
// does nothing during an upgrade of the server.
void register_launcher();

}  // namespace idem::cleanup
