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
  Oid type;       // of the column, or what a domain is over
  bool replaces;  // an attachment with the same label
};

// All three act on a table that is locked (in SHARE ROW EXCLUSIVE mode at least, as CREATE TRIGGER
// does it, and in ACCESS EXCLUSIVE mode for dropping) and not open, with the rights of the caller.
void make_triggers(Oid table, const Wish &wish);

// Drops statement triggers whose attachment is gone: with its column, or with the partitioned table
// that this one was a part of.
void drop_orphans(Oid table, Oid schema);

// Drops all triggers of the attachment with this label, also those on partitions that are not
// copies of the parent's.
void drop_triggers(Oid table, Oid schema, const char *label);

}  // namespace idem::machines
