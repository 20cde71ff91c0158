// The store's consult through the table and index access methods; needs tables.plain.

#pragma once

#include "streams/store.hpp"

namespace idem::streams {

void consult_directly(const StreamTables &tables, const text *stream, std::int64_t id, Judge judge,
                      void *argument);

}  // namespace idem::streams
