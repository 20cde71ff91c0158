#include "cleanup/shared.hpp"

#include <type_traits>

#include "server/compat.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

namespace {

constexpr int kDatabases = 1000;
constexpr int kTables = 2000;
constexpr const char *kTranche = "pg_idem cleanup";

struct State {
  int launcher;
  TimestampTz window_opens_at;
  int databases;
  int tables;
  DatabaseEntry database[kDatabases];
  TableEntry table[kTables];
};
static_assert(std::is_trivially_copyable_v<State>);

State *state = nullptr;
LWLock *lock = nullptr;
shmem_startup_hook_type previous_startup = nullptr;

void start_shared_memory() {
  bool found;
  LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
  state = static_cast<State *>(ShmemInitStruct(kTranche, sizeof(State), &found));
  lock = &GetNamedLWLockTranche(kTranche)->lock;
  if (!found) memset(state, 0, sizeof(State));
  LWLockRelease(AddinShmemInitLock);
}

void on_startup() {
  if (previous_startup != nullptr) previous_startup();
  server::outward(start_shared_memory);
}

DatabaseEntry *find_database(Oid database) {
  for (int i = 0; i < state->databases; i++)
    if (state->database[i].database == database) return &state->database[i];
  return nullptr;
}

TableEntry *find_table(Oid database, Oid table) {
  for (int i = 0; i < state->tables; i++)
    if (state->table[i].database == database && state->table[i].table == table)
      return &state->table[i];
  return nullptr;
}

DatabaseEntry *provide_database(Oid database) {
  DatabaseEntry *entry = find_database(database);
  if (entry != nullptr || state->databases == kDatabases) return entry;
  entry = &state->database[state->databases++];
  memset(entry, 0, sizeof(*entry));
  entry->database = database;
  return entry;
}

TableEntry *provide_table(Oid database, Oid table) {
  TableEntry *entry = find_table(database, table);
  if (entry != nullptr || state->tables == kTables) return entry;
  entry = &state->table[state->tables++];
  memset(entry, 0, sizeof(*entry));
  entry->database = database;
  entry->table = table;
  return entry;
}

Request wanted = Request::none;

void at_end(XactEvent event, void *) {
  if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT) return;
  const Request request = event == XACT_EVENT_COMMIT ? wanted : Request::none;
  wanted = Request::none;
  if (request == Request::none) return;
  (void)with_database(MyDatabaseId, [request](DatabaseEntry &entry) {
    entry.request = Max(entry.request, request);
  });
  wake_launcher();
}

}  // namespace

void keep_text(char (&to)[kErrorBytes], const char *from) {
  const int length = static_cast<int>(strlen(from));
  const int kept = length < kErrorBytes ? length : pg_mbcliplen(from, length, kErrorBytes - 1);
  memcpy(to, from, static_cast<size_t>(kept));
  to[kept] = '\0';
}

void Problem::keep(const char *text) {
  keep_text(message, text);
  at = GetCurrentTimestamp();
}

void reserve_shared_state() {
  server::request_shared_memory(sizeof(State));
  server::request_lock(kTranche);
  previous_startup = shmem_startup_hook;
  shmem_startup_hook = on_startup;
}

bool available() {
  return state != nullptr;
}

bool read_database(Oid database, DatabaseEntry *entry) {
  return with_database(database, [entry](DatabaseEntry &found) { *entry = found; });
}

bool read_table(Oid database, Oid table, TableEntry *entry) {
  LWLockAcquire(lock, LW_SHARED);
  const TableEntry *found = find_table(database, table);
  if (found != nullptr) *entry = *found;
  LWLockRelease(lock);
  return found != nullptr;
}

bool change_database(Oid database, void (*change)(DatabaseEntry &, void *), void *argument) {
  LWLockAcquire(lock, LW_EXCLUSIVE);
  DatabaseEntry *entry = provide_database(database);
  if (entry != nullptr) change(*entry, argument);
  LWLockRelease(lock);
  return entry != nullptr;
}

bool change_table(Oid database, Oid table, void (*change)(TableEntry &, void *), void *argument) {
  LWLockAcquire(lock, LW_EXCLUSIVE);
  TableEntry *entry = provide_table(database, table);
  if (entry != nullptr) change(*entry, argument);
  LWLockRelease(lock);
  return entry != nullptr;
}

void keep_databases(const List *databases) {
  LWLockAcquire(lock, LW_EXCLUSIVE);
  for (int i = state->databases - 1; i >= 0; i--)
    if (!list_member_oid(databases, state->database[i].database))
      state->database[i] = state->database[--state->databases];
  for (int i = state->tables - 1; i >= 0; i--)
    if (!list_member_oid(databases, state->table[i].database))
      state->table[i] = state->table[--state->tables];
  LWLockRelease(lock);
}

void keep_tables(Oid database, const List *tables) {
  LWLockAcquire(lock, LW_EXCLUSIVE);
  for (int i = state->tables - 1; i >= 0; i--)
    if (state->table[i].database == database && !list_member_oid(tables, state->table[i].table))
      state->table[i] = state->table[--state->tables];
  LWLockRelease(lock);
}

void set_launcher(int pid) {
  LWLockAcquire(lock, LW_EXCLUSIVE);
  state->launcher = pid;
  LWLockRelease(lock);
}

int launcher() {
  LWLockAcquire(lock, LW_SHARED);
  const int pid = state->launcher;
  LWLockRelease(lock);
  return pid;
}

void set_window_opens_at(TimestampTz time) {
  LWLockAcquire(lock, LW_EXCLUSIVE);
  state->window_opens_at = time;
  LWLockRelease(lock);
}

TimestampTz window_opens_at() {
  LWLockAcquire(lock, LW_SHARED);
  const TimestampTz time = state->window_opens_at;
  LWLockRelease(lock);
  return time;
}

void wake_launcher() {
  // The launcher is connected to no database, and so has a PGPROC like any session.
  PGPROC *process = BackendPidGetProc(launcher());
  if (process != nullptr) SetLatch(&process->procLatch);
}

void request_visit_at_commit(Request request) {
  static bool registered = false;
  if (!available()) return;
  if (!registered) RegisterXactCallback(at_end, nullptr);
  registered = true;
  wanted = Max(wanted, request);
}

void announce_extension() {
  if (!available()) return;
  DatabaseEntry entry = {};
  if (!read_database(MyDatabaseId, &entry)) return;
  const bool known = entry.state != DatabaseState::unknown && entry.state != DatabaseState::absent;
  if (!known && !RecoveryInProgress()) request_visit_at_commit(Request::soon);
}

}  // namespace idem::cleanup
