// Deleting or moving one batch of expired rows.

#pragma once

#include <cstdint>

#include "cleanup/leaf.hpp"
#include "cleanup/premises.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

// Deletes those of the rows that are still there, expired and not locked by anybody,
// or moves them, with the rights of the relation's owner and nothing more. Returns how many.
// Raises whatever triggers and constraints raise.
std::int64_t expire(const Premises &premises, const Leaf &leaf, TimestampTz now,
                    const ItemPointerData *tids, int count);

// Raises ID400 unless every column of the leaf can be stored in the rule's archive, under the same
// name and type, and 42501 unless the owner of the leaf may insert there.
void require_fitting_archive(const Leaf &leaf);

}  // namespace idem::cleanup
