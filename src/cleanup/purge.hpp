// Expiring records by SQL alone, where rows have no addresses that mean anything.

#pragma once

#include <cstdint>

#include "cleanup/premises.hpp"
#include "cleanup/rules.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

// Moves or deletes up to `limit` expired records by SQL alone, oldest first, passing over locked
// ones. Makes the archive's partition where it is missing. Works on any kind of table. `rule` is
// that of the records, held.
std::int64_t purge(const Premises &premises, const Rule &rule, TimestampTz now, std::int64_t limit);

}  // namespace idem::cleanup
