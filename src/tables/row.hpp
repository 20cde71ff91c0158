// Rows of users' tables by their keys: {"id": 42} for the row whose primary key or another unique
// key has these values.

#pragma once

#include <cstdint>

#include "server/prelude.hpp"

namespace idem::tables {

// Columns that tell a table's rows apart.
struct RowKey {
  int columns;  // 0: the table has no such key
  AttrNumber column[INDEX_MAX_KEYS];
};

// The primary key, or else the unique index that identifies rows to replication. Without the column
// `left_out` (or InvalidAttrNumber), which changes in a row's life, such as a status that a table
// partitioned by it must have there: a row keeps its name.
RowKey key_of_rows(Relation relation, AttrNumber left_out);

// The key of a row: as jsonb, in which numbers and booleans are such and everything else is a
// string, dates and times as ISO 8601 whatever the session's DateStyle; and as a number by which an
// index finds it, which is the integer of a key that is a single one, so that rows next to each
// other stay so, or else a hash.
struct KeyOfRow {
  Jsonb *json;
  std::int64_t hash;
};

// The values of a row's key alone, in an array: its columns may be renamed.
Jsonb *values_of_key(const RowKey &key, Relation relation, TupleTableSlot *slot);

KeyOfRow key_of_row(const RowKey &key, Relation relation, TupleTableSlot *slot);

// A condition such as `t.id = $1` for the key that a caller passed, with its values.
struct KeyCondition {
  StringInfoData sql;  // of a table called t
  int parameters;
  bool other_collation;  // than the columns': equal values may be written otherwise
  AttrNumber columns[INDEX_MAX_KEYS];
  Oid types[INDEX_MAX_KEYS + 1];
  Datum values[INDEX_MAX_KEYS + 1];
};

// Reads a key: an object with the columns of a unique index, among which `left_out` may be missing,
// or a bare value for a primary key of one column. Leaves room for one more parameter. Raises
// ID400 for anything else, and whatever the input function of a column's type raises.
KeyCondition read_key(Relation relation, AttrNumber left_out, Jsonb *key);

// The same for the key that a condition names, or null: it names other columns.
const Jsonb *key_of_condition(const RowKey &key, Relation relation, const KeyCondition &condition);

// As server::nullable_sql_value. Senders whose numbers are all floating-point ones write 42.0 for
// 42, and so columns of integers take that; to others the zero may matter.
NullableDatum value_for_column(const JsonbValue &value, Oid type);

// A row as a value of the table's row type, and where it is.
struct FoundRow {
  HeapTupleHeader row;  // null: there is none
  Oid table;            // the partition or child that it is in
  ItemPointerData address;
};

// Finds the row with the caller's rights, and with `lock` keeps others from changing it. Call
// between SPI_connect and SPI_finish; what it returns lives until the latter. Raises 21000 when
// several rows have the key.
FoundRow find_row(Relation relation, const KeyCondition &key, bool lock);

// Raises 21000.
[[noreturn]] void refuse_ambiguous(Relation relation);

// The key for a message: " Row: {"id": 42}." or nothing where the caller might not read it.
const char *row_for_message(Relation relation, AttrNumber left_out, TupleTableSlot *slot);

}  // namespace idem::tables
