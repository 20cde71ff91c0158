// Saying no to an update because of the row's version.

#pragma once

#include <cstdint>

#include "server/prelude.hpp"
#include "versions/attachment.hpp"

namespace idem::versions {

// Raises ID400.
[[noreturn]] void refuse_argument(const char *problem, const char *hint);

struct Conflict {
  Relation relation;
  const Attachment *attachment;
  std::int64_t stored;
  bool written_null;
  std::int64_t written;
};

// Raises ID010, or 22003 when the row has had its last version. `row` names it for the message, as
// row_for_message does.
[[noreturn]] void refuse(const Conflict &conflict, Verdict verdict, const char *row);

// Raises ID010 for a caller that names the version it expects.
[[noreturn]] void refuse_stale(Relation relation, AttrNumber column, std::int64_t expected,
                               std::int64_t stored, const char *detail);

}  // namespace idem::versions
