// The store's consult by SQL, for a table that is partitioned, foreign or has triggers.

#pragma once

#include "streams/direct.hpp"

namespace idem::streams {

// Asks the judge once without a lock, so that what is known is answered without waiting, and again
// with one.
void consult_by_sql(const StreamTables &tables, const text *stream, std::int64_t id, Judge judge,
                    void *argument);

}  // namespace idem::streams
