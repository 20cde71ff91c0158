// The extension's own tables, columns and types by their names. Each raises, with a hint, when what
// it looks for is missing or altered beyond use.

#pragma once

#include "server/prelude.hpp"

namespace idem::server {

Oid relation_named(const char *name, Oid schema);
Oid type_named(const char *name, Oid schema);

// The number of a column that must have this type; `table` is the relation's name for messages.
AttrNumber column_named(Oid relation, const char *table, const char *column, Oid type);

// Locks the table of that name; what it was called before it could be locked does not count.
// `watched` is set to what is about to be locked before that has to wait.
Oid lock_named(const char *name, Oid schema, LOCKMODE mode, Oid *watched);

// Whether rows may be written without the executor's help: an ordinary table of so many columns,
// and no trigger, rule, CHECK or generated column.
bool is_plain_table(Relation relation, int columns);

// The index of the table, which is open, that `is_wanted` says yes to, or InvalidOid.
template <typename IsWanted>
Oid find_index(Relation table, IsWanted is_wanted) {
  Oid found = InvalidOid;
  List *indexes = RelationGetIndexList(table);
  ListCell *cell;
  foreach (cell, indexes) {
    Relation index = index_open(lfirst_oid(cell), AccessShareLock);
    if (is_wanted(index)) found = RelationGetRelid(index);
    index_close(index, AccessShareLock);
  }
  list_free(indexes);
  return found;
}

}  // namespace idem::server
