// The triggers of an attachment: making and dropping them.

#pragma once

#include "machines/attachment.hpp"
#include "server/prelude.hpp"

namespace idem::machines {

// What idem_machine_attach() was asked for, checked.
struct Wish {
  Oid schema;           // of the extension
  const char *machine;  // null: the rows name theirs
  const char *column;
  const char *row_machine;  // or null, as is the next
  const char *row_version;
  bool history;
  bool allow_null;
  bool always;  // also while changes are replicated
  int guards;
  const Guard *guard;
  const char *label;
};

// Makes the triggers, with the rights of the caller. The relation must be locked in SHARE ROW
// EXCLUSIVE mode, as CREATE TRIGGER does it.
void make_triggers(Relation relation, const Wish &wish);

// Drops statement triggers whose attachment is gone: with its column, or with the partitioned table
// that this one was a part of.
void drop_orphans(Relation relation, Oid schema);

// Drops all triggers of the attachment with this label, also those on partitions that are not
// copies of the parent's.
void drop_triggers(Relation relation, Oid schema, const char *label);

}  // namespace idem::machines
