// Which columns have a machine, found in the catalog.

#pragma once

#include "machines/attachment.hpp"
#include "server/prelude.hpp"

namespace idem::machines {

// Every attachment of this database that makes sense, in the current memory context: a list of Attachment *, each
// once for the table it was made on, without partitions. Takes an ACCESS SHARE lock on each such
// table.
List *all_attachments(Oid schema);

}  // namespace idem::machines
