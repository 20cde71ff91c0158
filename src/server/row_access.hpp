// Rows of our own tables through the table and index access methods instead of SQL: finding the
// newest version of a row by its key, locking it, and writing another in its place.
//
// All need a plain local heap and a lock on it: AccessShareLock to look, RowExclusiveLock to write.

#pragma once

#include "server/prelude.hpp"

namespace idem::server {

// The table, and a slot that holds the row that a look found for as long as the place is open.
struct Place {
  Relation heap;
  TupleTableSlot *slot;
};

Place open_place(Oid table);
void close_place(const Place &place);

// A unique B-tree, and the values of its columns.
struct Key {
  Oid index;
  ScanKeyData columns[2];
  int count;
};

enum class Met {
  nothing,
  uncommitted,  // an open transaction is inserting it; nothing else is known
  row           // as last committed or as written by this transaction
};

// Looks through the index. A row that an open transaction is changing is met as it was committed.
// `entries` says whether the index had any for the key: the versions of a row that is being moved
// are met one after the other, and if the move is committed in between, none may be found, because
// the new one was not there yet, or not committed, and the old one is dead. `root` is set with a
// row, to what the index entry points to.
Met find_by_index(const Place &place, const Key &key, ItemPointer root, bool *entries);

// The same where the row was met before; false when it is not there, committed, now. Whether it is
// the row that was wanted is for the caller to see.
bool find_by_root(const Place &place, ItemPointerData root);

// The same for one version, without those that came after it: quicker, but finds nothing once the
// row was changed. Old versions on the page are not cleared away on the way, so look by the root
// now and then.
bool find_version(const Place &place, ItemPointerData tid);

bool find_in_snapshot(const Place &place, const Key &key, Snapshot snapshot);

// A snapshot shows exactly one version of every row, so this misses no row.
bool find_committed(const Place &place, const Key &key);

// Whether the row in the slot is the version that this transaction's snapshot shows. Also registers
// the read with the serializable machinery.
bool in_transaction_snapshot(const Place &place);

// A row to be written, and what the executor's index routines need around it.
struct Writer {
  EState *state;
  ResultRelInfo *relation;
  TupleTableSlot *slot;
};

// `values` and `nulls` are for the columns of the table.
Writer open_writer(Relation heap, const Datum *values, const bool *nulls);
void close_writer(const Writer &writer);

// Locks the row in the slot until this transaction ends.
TM_Result lock_row(const Place &place, LockTupleMode mode, bool wait, uint8 flags);

// Where a version was written.
struct Written {
  ItemPointerData tid;
  bool own_entries;  // the index points to it, and not to one before it
};

// Writes a new version over the one at `tid`.
TM_Result update_row(const Place &place, ItemPointerData tid, const Datum *values,
                     const bool *nulls, bool wait, Written *written);

}  // namespace idem::server
