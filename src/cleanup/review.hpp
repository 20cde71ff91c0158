// What the launcher makes of a visit that is over.

#pragma once

#include "cleanup/databases.hpp"
#include "cleanup/shared.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

// Draws the consequences of what the entry says, read when no worker was at it: after a failure the
// next visit is put off, and the beginning and the end of an episode of failures are logged.
void review_visit(const Database &database, const DatabaseEntry &seen);

// When the database is due, by its last visit and by the naptime as it is now.
TimestampTz due_at(const DatabaseEntry &entry);

}  // namespace idem::cleanup
