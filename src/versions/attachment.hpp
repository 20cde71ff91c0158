// The version column of a table, as the trigger that checks it says: the mode is an argument, the
// columns are what its WHEN clause names, the version first and then those that are ignored. A
// CREATE TRIGGER of the user's names them in its arguments.

#pragma once

#include "server/prelude.hpp"
#include "versions/decision.hpp"

namespace idem::versions {

struct Attachment {
  AttrNumber column;
  bool big;  // bigint, not integer
  Mode mode;
  bool made_here;  // by idem_version_attach, not by a CREATE TRIGGER of the user
  int ignored;
  // By number of column, from 0: those in which a difference does not count.
  const bool *ignores;
};

// The trigger function in a schema of ours.
Oid version_check_in(Oid schema);

// What a trigger of ours says, kept for the session until something about the table changes. Lives
// until the transaction ends. Raises ID400 for arguments that make no sense, 42703 for a column
// that is not there, 42804 for one that cannot be a version.
const Attachment *attachment_of(Relation relation, const Trigger &trigger);

// The attachment of a table and its trigger, or null. `function` is idem_version_check(). What it
// returns is for the current memory context.
struct Attached {
  const Trigger *trigger;
  const Attachment *attachment;
};
Attached find_attached(Relation relation, Oid function);

// Whether attachment_of() will not raise.
bool makes_sense(Relation relation, const Trigger &trigger);

// Raises 42804 for a column that cannot be a version.
void require_version_column(Relation relation, AttrNumber column);

}  // namespace idem::versions
