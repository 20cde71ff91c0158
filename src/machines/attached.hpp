// Which columns have a machine, found in the catalog.

#pragma once

#include "machines/attachment.hpp"
#include "server/prelude.hpp"

namespace idem::machines {

// Every attachment of this database that makes sense, in the current memory context: a list of
// Attachment *, each once for the table it was made on, without partitions. Takes an ACCESS SHARE
// lock on each such table.
List *all_attachments(Oid schema);

// The same for one table, which is open; `function` is idem_transition_check().
List *attachments_of(Relation relation, Oid function);

// Whether any trigger has this label. Takes no locks.
bool is_label(Oid schema, const char *label);

}  // namespace idem::machines
