// A machine on a column of a table, as its triggers say.

#pragma once

#include "machines/column.hpp"
#include "machines/store.hpp"
#include "server/prelude.hpp"

namespace idem::machines {

// Arguments of a trigger: machine, column, options. See `Written`.
inline constexpr const char *kOptionHistory = "history";
inline constexpr const char *kOptionAllowNull = "allow_null";
inline constexpr const char *kOptionRowMachine = "row_machine";
inline constexpr const char *kOptionRowVersion = "row_version";
inline constexpr const char *kOptionLabel = "label=";
inline constexpr const char *kOptionGuard = "guard ";
inline constexpr const char *kTwoRows = "/2";  // after the function of a guard that takes two rows

// A veto on some of the transitions, by a function that is looked up when it is first needed.
struct Guard {
  const char *transition;  // an event, or "from --> to"
  const char *function;    // qualified
  int rows;                // its arguments: the row, or the row before and after
};

struct Attachment {
  Oid trigger;
  Oid relation;
  Place place;
  const char *machine;  // null: the row names it
  const char *label;    // what the history calls it: the names of table and column at first
  AttrNumber column;
  AttrNumber row_machine;  // or InvalidAttrNumber, as is the next
  AttrNumber row_version;
  bool history;
  bool allow_null;
  bool always;     // also judges what is replicated
  bool made_here;  // by idem_machine_attach, not by a CREATE TRIGGER of the user
  ColumnType type;
  int guards;
  const Guard *guard;
};

// Whether one of the trigger's options is exactly this.
bool has_option(const Trigger &trigger, const char *option);

// Whether idem_machine_attach made the trigger.
bool is_made_here(const Trigger &trigger);

// Describes the attachment that a trigger of `relation` stands for, in CurrentMemoryContext. False
// when the trigger's arguments make no sense.
bool try_describe(Relation relation, const Trigger &trigger, Attachment *attachment);

// The same, kept for the session until something about the table changes. What it returns lives
// until the transaction ends. Raises ID400 for arguments that make no sense, 42703 for a column
// that is not there, 42804 for one that cannot hold states.
const Attachment *attachment_of(Relation relation, const Trigger &trigger);

// Whether this is one of our triggers in the schema, fires for UPDATE of a row, and so stands for
// the attachment as a whole.
bool judges_changes(const Trigger &trigger, Oid function);

// The attachment of the table (its column `column`, or the only one it has with null), as described
// above. Raises ID400 when there is none or more than one.
const Attachment *find_attachment(Relation relation, Oid schema, const char *column);

// The trigger function in a schema of ours.
Oid transition_check_in(Oid schema);

}  // namespace idem::machines
