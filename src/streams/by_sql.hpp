// The store's consult by SQL, for a table that is partitioned, foreign or has triggers.

#pragma once

#include "streams/direct.hpp"

namespace idem::streams {

// Locks the row first, so that the judge is asked once.
void consult_by_sql(const StreamTables &tables, const text *stream, std::int64_t id, Judge judge,
                    void *argument);

}  // namespace idem::streams
