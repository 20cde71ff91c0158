// Writing the version into a row that is about to be stored.

#pragma once

#include <cstdint>

#include "server/prelude.hpp"
#include "versions/attachment.hpp"

namespace idem::versions {

// Returns what the trigger has to return: the row that it was given where that could be changed in
// place, or else a changed copy.
HeapTuple stamp(const TriggerData &trigger, const Attachment &attachment, std::int64_t version);

}  // namespace idem::versions
