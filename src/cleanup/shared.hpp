// What the launcher, the workers and the sessions of all databases tell each other: one entry for
// each database and one for each table that is cleaned. Lives in shared memory and is lost in a
// crash. Without preload nothing is there: available() is false and nothing else may be called.
//
// Entries are read and written as whole copies under one lightweight lock; nothing here is called
// with the lock held.

#pragma once

#include <cstdint>

#include "cleanup/expiry_index.hpp"
#include "cleanup/schedule.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

enum class DatabaseState : int { unknown, waiting, starting, running, absent, paused, failed };

// What sessions want of the launcher: a visit when cleanup may run, or at once, whatever the window
// and former failures say.
enum class Request : int { none, soon, now };

inline constexpr int kErrorBytes = 512;

// Copies a text, cut where a character ends if it is too long.
void keep_text(char (&to)[kErrorBytes], const char *from);

struct Problem {
  char message[kErrorBytes];  // empty: none
  TimestampTz at;

  void keep(const char *text);
};

struct DatabaseEntry {
  Oid database;
  DatabaseState state;
  int worker;  // process id, 0 when none runs
  Request request;
  bool connected;  // the worker of the last visit
  bool reported;   // the worker of the last visit said how it went
  int failures;    // visits in a row that failed
  TimestampTz next_visit;
  TimestampTz stop_at;  // when the running worker has to leave, because the window closes
  TimestampTz started_at;
  TimestampTz finished_at;
  Oid last_turn;    // the table that was served last
  Problem problem;  // of the last failure
};

// Where the next turn of a table begins instead of at its first expired row; leaf 0: nowhere else.
struct ResumePoint {
  Oid leaf;
  Cursor cursor;
};

struct TableEntry {
  Oid database;
  Oid table;  // an attached table, or idem_records
  std::int64_t rows;
  std::int64_t batches;
  std::int64_t errors;
  int failures;  // turns in a row that failed
  TimestampTz next_turn;
  ResumePoint resume;
  int cap;  // rows of a batch that may come to an end in time; 0: no limit is known
  TimestampTz started_at;
  TimestampTz finished_at;
  TimestampTz last_success_at;
  Problem problem;  // of the last error
};

// Asks the server for the memory. Call from _PG_init while the library is preloaded.
void reserve_shared_state();
bool available();

// The entry of a database, made if there is none; false when there is no room for one more.
bool read_database(Oid database, DatabaseEntry *entry);

// Calls change(entry, argument) with the entry locked, made if there is none. The callback must
// neither raise nor wait. False when there is no room.
bool change_database(Oid database, void (*change)(DatabaseEntry &, void *), void *argument);
bool change_table(Oid database, Oid table, void (*change)(TableEntry &, void *), void *argument);

// False when nothing is known of the table yet.
bool read_table(Oid database, Oid table, TableEntry *entry);

// Forgets databases, and their tables, and tables of `database` that are not in the list (of OIDs).
void keep_databases(const List *databases);
void keep_tables(Oid database, const List *tables);

// Changes an entry by a callable of trivial captures; see above.
template <typename Change>
bool with_database(Oid database, Change change) {
  return change_database(
      database,
      [](DatabaseEntry &entry, void *argument) { (*static_cast<Change *>(argument))(entry); },
      &change);
}
template <typename Change>
bool with_table(Oid database, Oid table, Change change) {
  return change_table(
      database, table,
      [](TableEntry &entry, void *argument) { (*static_cast<Change *>(argument))(entry); },
      &change);
}

// The launcher's process, which `wake_launcher` wakes; 0 when none runs.
void set_launcher(int pid);
int launcher();
void wake_launcher();

// When the window opens, as the launcher sees it: sessions have time zones of their own.
void set_window_opens_at(TimestampTz time);
TimestampTz window_opens_at();

// Requests a visit of the session's own database, once its transaction commits. Does nothing
// without preload.
void request_visit_at_commit(Request request);

// Requests a visit, soon, of the session's own database unless it is known to have the extension.
// Cheap, and does nothing without preload.
void announce_extension();

}  // namespace idem::cleanup
