// Rows on their way from one partition to another. To the triggers of rows, such an update is a row
// deleted here and another one inserted there; but nothing was delivered.

#pragma once

#include "server/prelude.hpp"

namespace idem::streams {

// Remembers a row that is about to be deleted, and may be about to move.
void remember_deleted(Relation relation, const ItemPointerData &row);

// Whether the row that is about to be inserted was deleted right before it because it moves. The
// answer is given as often as the row was remembered.
bool is_arriving();

}  // namespace idem::streams
