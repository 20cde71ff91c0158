// Direct access: the two operations on every request's path, and the look that both begin with,
// through the table and index access methods instead of SQL. Each does what the statement of the
// same purpose in store.cpp does; store.cpp decides which of the two runs.
//
// All need table.direct, the writers table.plain, and a lock on the table: AccessShareLock to look,
// RowExclusiveLock to write.

#pragma once

#include "records/record.hpp"
#include "records/table.hpp"
#include "server/prelude.hpp"

namespace idem::records {

// What an absence is worth: a likely one may be that of a record that is just being moved, and
// costs no second look.
enum class Absence { likely, certain };

// A look with a dirty snapshot: the record as last committed or as written here, and whether an
// open transaction is inserting it. Raises 40001 as store.hpp's look does.
Sighting look_directly(const RecordsTable &table, const Identity &id, Absence absence);

Sighting look_directly_in_snapshot(const RecordsTable &table, const Identity &id);

// INSERT … ON CONFLICT (key, scope) DO NOTHING: inserts speculatively, as the executor does (see
// ExecInsert and "Speculative insertion" in the server's executor), and returns whether it did.
// With `competitor` it first waits for the transaction that holds the key; otherwise the caller has
// just looked, and a conflict shows in the index.
bool insert_directly(const RecordsTable &table, const Identity &id, const Grant &grant,
                     bool competitor);

// Lets `change` look at the newest version of the record and edit it, and writes what it made. `no`
// when there is no record, `change` refuses, or the row changed meanwhile; `busy` only with
// Blocking::never. Raises 40001 when the row changed under a transaction-wide snapshot.
Written rewrite_directly(const RecordsTable &table, const Identity &id, const Manner &manner,
                         bool (*change)(Record &, void *), void *argument);

// Keeps those who rewrite with Manner::alone out of the record until the transaction ends, and
// waits for one who is at it; false when the record then is not in progress under this token.
bool share_directly(const RecordsTable &table, const Identity &id, std::int64_t token);

}  // namespace idem::records
