// Rows on their way from one partition to another. To the triggers of rows, such an update is a row
// deleted here and another one inserted there; but nothing was delivered.

#pragma once

#include "server/prelude.hpp"

namespace idem::streams {

// Both are for trigger functions, which the executor calls in the memory that it keeps for the row
// at hand. What was remembered ends with that: when the statement turns to its next row, ends or
// fails.

// Remembers a row of a partition that is about to be deleted, and may be about to move.
void remember_deleted(const TriggerData &trigger);

// Whether the row that is about to be inserted was deleted right before it because it moves. Each
// trigger of a partition may ask once.
bool is_arriving(const TriggerData &trigger);

}  // namespace idem::streams
