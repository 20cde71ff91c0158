// How many rows are in which state.

#pragma once

#include "machines/attachment.hpp"
#include "machines/judge.hpp"
#include "server/prelude.hpp"

namespace idem::machines {

// Rows that agree in status, machine and version.
struct Group {
  NullableDatum value;
  const char *text;     // of the value; null: NULL
  const char *machine;  // null: neither the row nor the attachment names one
  int version;          // 0: the newest
  std::int64_t rows;
};

// Whose rights count: the caller's, or the table owner's in a restricted operation, for functions
// that only say how many rows are in the way.
enum class CountAs { caller, owner };

// A list of Group * in the current memory context, ordered by text. `machine` limits it to the rows
// of that machine; null: all.
List *count_rows(Relation relation, const Attachment &attachment, const char *machine,
                 CountAs rights);

// The state of a group under an edition, or kUnknown.
StateIndex state_of_group(const Attachment &attachment, const Group &group, const Edition *edition);

// What is wrong with the rows of a group, each judged by its own machine and version, or null.
const char *problem_with(const Attachment &attachment, const Group &group);

// Groups that a machine does not know, such as `"paid" (12 rows), NULL (1 row)`, or null: none.
const char *strangers(const Attachment &attachment, List *groups, const Edition *edition);

}  // namespace idem::machines
