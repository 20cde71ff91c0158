// The databases of the server, as the launcher sees them.

#pragma once

#include "server/prelude.hpp"

namespace idem::cleanup {

struct Database {
  Oid oid;
  Oid role;  // as whom a worker connects; InvalidOid is the bootstrap superuser
  char name[NAMEDATALEN];
};

// Those that a worker may visit, as a list of Database * in the current memory context: no
// templates, none that forbid connections, none left invalid by an interrupted DROP. Runs a
// transaction.
List *list_databases();

// Forgets what is shared about databases that are not in the list.
void forget_dropped_databases(const List *databases);

}  // namespace idem::cleanup
