// Tables whose rows are messages: what a trigger that calls idem_accept_row says about them. Such
// triggers are the only place where it is written down, see tables/triggers.hpp.

#pragma once

#include "server/prelude.hpp"

namespace idem::streams {

inline constexpr const char *kAcceptRow = "idem_accept_row";

struct Attachment {
  Oid relation;
  const text *stream;
  bool by_producer;      // otherwise by message id
  AttrNumber column[3];  // the message id; or producer id, epoch and sequence number
  Oid type[3];           // of these, or what a domain is over
};

// Whether the trigger decides about rows, other than to tell of rows that move and of the end of a
// statement.
bool accepts_rows(const Trigger &trigger, Oid function);

// Reads such a trigger, in the current memory context; false where it makes no sense.
bool try_read_attachment(Relation relation, const Trigger &trigger, Attachment *attachment);

// The same, but raises ID400, 42703, 42804 or 42809.
Attachment read_attachment(Relation relation, const Trigger &trigger);

// Raises 42703, 42804 or 42809 for a column that cannot have this role.
void require_column(Relation relation, const char *name, bool by_producer);

}  // namespace idem::streams
