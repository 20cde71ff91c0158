// The history: changes are collected while a statement runs and written when it ends.

#pragma once

#include "machines/attachment.hpp"
#include "server/prelude.hpp"
#include "tables/row.hpp"

namespace idem::machines {

// What an application said when it fired an event, for the one change that it makes.
struct Firing {
  const char *attachment;  // its label
  Oid table;               // of the row before the change
  ItemPointerData row;     // its address
  const char *event;
  const text *event_id;  // or null
  const Jsonb *data;     // or null
};

// The event that is being fired, or null. Whoever sets it puts the former one back, also after an
// error.
extern const Firing *firing;

// Whether the event being fired changes this row, in the column of this attachment.
bool is_fired(const Attachment &attachment, Oid table, ItemPointer row);

struct Change {
  const Attachment *attachment;
  const Edition *edition;
  tables::KeyOfRow key;
  const char *from;     // null: born, or NULL
  const char *to;       // null: NULL
  const Firing *fired;  // null: an ordinary write
};

// Raises 55000: the history could not name the table's rows.
[[noreturn]] void refuse_without_key(Relation relation);

// Gives a change its place in the history and collects it, to be written by write_changes(), or
// else before the transaction ends.
void collect(const Change &change);

// Writes what was collected in this subtransaction. Call when a statement ends.
void write_changes();

}  // namespace idem::machines
