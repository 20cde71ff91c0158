#include "cleanup/launcher.hpp"

#include "cleanup/settings.hpp"
#include "cleanup/shared.hpp"
#include "cleanup/worker.hpp"
#include "server/compat.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

namespace {

constexpr int kRestartSeconds = 5;
// Marks a database whose DROP was interrupted; has no name in older minor releases.
constexpr int32 kInvalidDatabase = -2;

struct Database {
  Oid oid;
  Oid role;
  char name[NAMEDATALEN];
};

struct Candidate {
  const Database *database;
  DatabaseEntry entry;
};

// A worker that was asked for, until the postmaster says that it is gone.
struct Hire {
  Oid database;
  BackgroundWorkerHandle *handle;
};

// All that survives a round.
struct Launcher {
  List *hires;   // in `context`
  int refusals;  // rounds in a row in which the postmaster had no slot
  TimestampTz hire_again_at;
  MemoryContext context;
  MemoryContext round;
};

// Where the owner may not log in, the worker has to be somebody else.
Oid role_for(Oid owner) {
  if (!server::kWorkersNeedLogin) return owner;
  HeapTuple tuple = SearchSysCache1(AUTHOID, ObjectIdGetDatum(owner));
  if (!HeapTupleIsValid(tuple)) return InvalidOid;
  const bool may_log_in = reinterpret_cast<Form_pg_authid>(GETSTRUCT(tuple))->rolcanlogin;
  ReleaseSysCache(tuple);
  return may_log_in ? owner : InvalidOid;
}

bool is_served(const FormData_pg_database *form) {
  return !form->datistemplate && form->datallowconn && form->datconnlimit != kInvalidDatabase;
}

// Databases that a worker may visit, as a list of Database * in the round's memory.
List *list_databases(const Launcher &launcher) {
  List *databases = NIL;
  StartTransactionCommand();
  (void)GetTransactionSnapshot();
  Relation catalog = table_open(DatabaseRelationId, AccessShareLock);
  TableScanDesc scan = table_beginscan_catalog(catalog, 0, nullptr);
  for (HeapTuple tuple; HeapTupleIsValid(tuple = heap_getnext(scan, ForwardScanDirection));) {
    const auto *form = reinterpret_cast<Form_pg_database>(GETSTRUCT(tuple));
    if (!is_served(form)) continue;
    const Oid role = role_for(form->datdba);
    const MemoryContext transaction = MemoryContextSwitchTo(launcher.round);
    auto *database = static_cast<Database *>(palloc(sizeof(Database)));
    database->oid = form->oid;
    database->role = role;
    strlcpy(database->name, NameStr(form->datname), NAMEDATALEN);
    databases = lappend(databases, database);
    MemoryContextSwitchTo(transaction);
  }
  table_endscan(scan);
  table_close(catalog, AccessShareLock);
  CommitTransactionCommand();
  MemoryContextSwitchTo(launcher.round);
  return databases;
}

void forget_dropped_databases(const List *databases) {
  List *oids = NIL;
  ListCell *cell;
  foreach (cell, databases) oids = lappend_oid(oids, static_cast<Database *>(lfirst(cell))->oid);
  keep_databases(oids);
}

bool is_hired(const Launcher &launcher, Oid database) {
  ListCell *cell;
  foreach (cell, launcher.hires)
    if (static_cast<Hire *>(lfirst(cell))->database == database) return true;
  return false;
}

// Lets go of workers that have ended.
void review_hires(Launcher &launcher) {
  const MemoryContext caller = MemoryContextSwitchTo(launcher.context);
  List *hires = NIL;
  ListCell *cell;
  foreach (cell, launcher.hires) {
    auto *hire = static_cast<Hire *>(lfirst(cell));
    pid_t pid;
    if (GetBackgroundWorkerPid(hire->handle, &pid) == BGWH_STOPPED) {
      pfree(hire->handle);
      pfree(hire);
    } else {
      hires = lappend(hires, hire);
    }
  }
  list_free(launcher.hires);
  launcher.hires = hires;
  MemoryContextSwitchTo(caller);
}

// A worker of a former launcher has no handle, but signs itself on.
bool is_busy(const Launcher &launcher, const DatabaseEntry &entry) {
  return entry.worker != 0 || is_hired(launcher, entry.database);
}

void log_failure(const Database &database, const DatabaseEntry &entry) {
  ereport(WARNING,
          (errmsg("cleanup of database \"%s\" failed: %s", database.name, entry.problem.message),
           errdetail("It is tried again at %s, and then after longer and longer delays without "
                     "another message.",
                     timestamptz_to_str(entry.next_visit))));
}

// Draws the consequences of a visit that is over.
void review_visit(const Database &database, const DatabaseEntry &seen) {
  const bool ended = seen.state == DatabaseState::starting || seen.state == DatabaseState::running;
  const bool failed = ended || (seen.state == DatabaseState::failed && seen.reported);
  if (!failed) {
    // What was drawn from a failure before says nothing of health.
    if (seen.failures == 0 || !seen.reported) return;
    (void)with_database(database.oid, [](DatabaseEntry &entry) { entry.failures = 0; });
    ereport(LOG, (errmsg_plural("cleanup of database \"%s\" works again after %d failure",
                                "cleanup of database \"%s\" works again after %d failures",
                                static_cast<unsigned long>(seen.failures), database.name,
                                seen.failures)));
    return;
  }
  DatabaseEntry after = seen;
  if (ended) after.problem.keep("the worker could not connect, or was ended; see the log");
  after.failures++;
  after.next_visit = GetCurrentTimestamp() + back_off(after.failures, naptime());
  (void)with_database(database.oid, [&after](DatabaseEntry &entry) {
    entry.state = DatabaseState::failed;
    entry.reported = false;
    entry.problem = after.problem;
    entry.failures = after.failures;
    entry.next_visit = after.next_visit;
  });
  if (after.failures == 1) log_failure(database, after);
}

BackgroundWorker describe_worker(const Database &database, bool requested) {
  BackgroundWorker worker = {};
  worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
  worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
  worker.bgw_restart_time = BGW_NEVER_RESTART;
  strlcpy(worker.bgw_library_name, "pg_idem", sizeof(worker.bgw_library_name));
  strlcpy(worker.bgw_function_name, kWorkerMain, sizeof(worker.bgw_function_name));
  snprintf(worker.bgw_name, sizeof(worker.bgw_name), "pg_idem cleanup of %s", database.name);
  strlcpy(worker.bgw_type, "pg_idem cleanup", sizeof(worker.bgw_type));
  worker.bgw_main_arg = ObjectIdGetDatum(database.oid);
  worker.bgw_notify_pid = MyProcPid;
  const WorkerOrder order = {database.role, requested};
  static_assert(sizeof(order) <= BGW_EXTRALEN);
  memcpy(worker.bgw_extra, &order, sizeof(order));
  return worker;
}

void log_refusal(const Launcher &launcher) {
  if (launcher.refusals != 1) return;
  ereport(WARNING, (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
                    errmsg("no free slot for a cleanup worker of pg_idem"),
                    errdetail("It is tried again after longer and longer delays without another "
                              "message."),
                    errhint("Increase max_worker_processes by idem.cleanup_max_workers + 1.")));
}

// False when the postmaster has no slot.
bool hire(Launcher &launcher, const Candidate &candidate, TimestampTz stop_at) {
  const Database &database = *candidate.database;
  BackgroundWorker worker = describe_worker(database, candidate.entry.request == Request::now);
  (void)with_database(database.oid, [stop_at](DatabaseEntry &entry) {
    entry.state = DatabaseState::starting;
    entry.reported = false;
    entry.request = Request::none;
    entry.started_at = GetCurrentTimestamp();
    entry.stop_at = stop_at;
  });
  const MemoryContext caller = MemoryContextSwitchTo(launcher.context);
  auto *hired = static_cast<Hire *>(palloc(sizeof(Hire)));
  hired->database = database.oid;
  const bool accepted = RegisterDynamicBackgroundWorker(&worker, &hired->handle);
  if (accepted)
    launcher.hires = lappend(launcher.hires, hired);
  else
    pfree(hired);
  MemoryContextSwitchTo(caller);
  return accepted;
}

void note_refusal(Launcher &launcher, const DatabaseEntry &before) {
  (void)with_database(before.database, [&before](DatabaseEntry &entry) { entry = before; });
  launcher.refusals++;
  launcher.hire_again_at = GetCurrentTimestamp() + back_off(launcher.refusals, naptime());
  log_refusal(launcher);
}

void note_acceptance(Launcher &launcher) {
  if (launcher.refusals > 0)
    ereport(LOG, (errmsg("cleanup workers of pg_idem find free slots again")));
  launcher.refusals = 0;
}

int by_next_visit(const ListCell *left, const ListCell *right) {
  const auto *one = static_cast<const Candidate *>(lfirst(left));
  const auto *other = static_cast<const Candidate *>(lfirst(right));
  return one->entry.next_visit < other->entry.next_visit   ? -1
         : one->entry.next_visit > other->entry.next_visit ? 1
                                                           : 0;
}

void warn_of_unserved() {
  static bool warned = false;
  if (!warned)
    ereport(WARNING, (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
                      errmsg("pg_idem cannot keep track of so many databases"),
                      errdetail("Some are not cleaned up in the background."),
                      errhint("Call idem_purge() and idem_expire_run() there.")));
  warned = true;
}

// Databases without a worker, those that waited longest first. Counts the others.
List *candidates(Launcher &launcher, const List *databases, int *busy) {
  List *found = NIL;
  ListCell *cell;
  foreach (cell, databases) {
    const auto *database = static_cast<const Database *>(lfirst(cell));
    auto *candidate = static_cast<Candidate *>(palloc(sizeof(Candidate)));
    candidate->database = database;
    if (!read_database(database->oid, &candidate->entry)) {
      warn_of_unserved();
      continue;
    }
    if (is_busy(launcher, candidate->entry)) {
      (*busy)++;
      continue;
    }
    review_visit(*database, candidate->entry);
    (void)read_database(database->oid, &candidate->entry);
    if (serves_database(database->name)) found = lappend(found, candidate);
  }
  list_sort(found, by_next_visit);
  return found;
}

// When the database wants its visit: at once on request, else when due and the window is open.
TimestampTz wanted_at(const DatabaseEntry &entry, TimestampTz now) {
  if (entry.request == Request::now) return now;
  const TimestampTz next = entry.request == Request::soon ? now : Max(entry.next_visit, now);
  return Max(next, now + window_opens_in());
}

TimestampTz stop_at(const DatabaseEntry &entry, TimestampTz now) {
  return entry.request == Request::now ? DT_NOEND : now + window_open_for();
}

// Tells the running workers of a window that was changed.
void move_stops(const List *databases, TimestampTz now) {
  const TimestampTz closing = now + window_open_for();
  ListCell *cell;
  foreach (cell, databases) {
    const auto *database = static_cast<const Database *>(lfirst(cell));
    const bool served = serves_database(database->name);
    (void)with_database(database->oid, [=](DatabaseEntry &entry) {
      if (entry.worker != 0 && entry.stop_at != DT_NOEND) entry.stop_at = served ? closing : now;
    });
  }
}

// Starts what is due; returns when to look again.
TimestampTz start_workers(Launcher &launcher, const List *databases) {
  TimestampTz now = GetCurrentTimestamp();
  TimestampTz wake = now + naptime();
  int busy = 0;
  ListCell *cell;
  foreach (cell, candidates(launcher, databases, &busy)) {
    const auto *candidate = static_cast<const Candidate *>(lfirst(cell));
    const TimestampTz wanted = wanted_at(candidate->entry, now);
    if (wanted > now) {
      wake = Min(wake, wanted);
      continue;
    }
    // Whoever ends first wakes us.
    if (busy >= settings.max_workers) break;
    if (launcher.refusals > 0 && now < launcher.hire_again_at) {
      wake = Min(wake, launcher.hire_again_at);
      break;
    }
    if (!hire(launcher, *candidate, stop_at(candidate->entry, now))) {
      note_refusal(launcher, candidate->entry);
      break;
    }
    note_acceptance(launcher);
    busy++;
  }
  return wake;
}

// One look at everything; returns when to look again unless woken.
TimestampTz look_around(Launcher &launcher) {
  review_hires(launcher);
  if (!settings.enabled) return DT_NOEND;
  List *databases = list_databases(launcher);
  forget_dropped_databases(databases);
  set_window_opens_at(GetCurrentTimestamp() + window_opens_in());
  move_stops(databases, GetCurrentTimestamp());
  return start_workers(launcher, databases);
}

void sleep_until(TimestampTz wake) {
  long ms = -1;
  int events = WL_LATCH_SET | WL_EXIT_ON_PM_DEATH;
  if (wake != DT_NOEND) {
    // Rounded up, so as not to wake too early and find nothing due.
    ms = static_cast<long>(Max(wake - GetCurrentTimestamp(), 0) / 1000) + 1;
    events |= WL_TIMEOUT;
  }
  pgstat_report_activity(STATE_IDLE, nullptr);
  (void)WaitLatch(MyLatch, events, ms, PG_WAIT_EXTENSION);
  ResetLatch(MyLatch);
  CHECK_FOR_INTERRUPTS();
  if (ConfigReloadPending) {
    ConfigReloadPending = false;
    ProcessConfigFile(PGC_SIGHUP);
  }
}

void leave(int, Datum) {
  set_launcher(0);
}

void launch() {
  before_shmem_exit(leave, Datum{0});
  set_launcher(MyProcPid);
  BackgroundWorkerInitializeConnection(nullptr, nullptr, 0);
  Launcher launcher = {};
  launcher.context =
      AllocSetContextCreate(TopMemoryContext, "pg_idem launcher", ALLOCSET_DEFAULT_SIZES);
  launcher.round = AllocSetContextCreate(TopMemoryContext, "pg_idem round", ALLOCSET_DEFAULT_SIZES);
  for (;;) {
    MemoryContextSwitchTo(launcher.round);
    const TimestampTz wake = look_around(launcher);
    MemoryContextReset(launcher.round);
    sleep_until(wake);
  }
}

}  // namespace

void register_launcher() {
  if (IsBinaryUpgrade) return;
  BackgroundWorker worker = {};
  worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
  worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
  worker.bgw_restart_time = kRestartSeconds;
  strlcpy(worker.bgw_library_name, "pg_idem", sizeof(worker.bgw_library_name));
  strlcpy(worker.bgw_function_name, "idem_cleanup_launcher_main", sizeof(worker.bgw_function_name));
  strlcpy(worker.bgw_name, "pg_idem cleanup launcher", sizeof(worker.bgw_name));
  strlcpy(worker.bgw_type, "pg_idem cleanup launcher", sizeof(worker.bgw_type));
  RegisterBackgroundWorker(&worker);
}

}  // namespace idem::cleanup

extern "C" {
PGDLLEXPORT void idem_cleanup_launcher_main(Datum argument);
}

void idem_cleanup_launcher_main(Datum) {
  pqsignal(SIGHUP, SignalHandlerForConfigReload);
  pqsignal(SIGTERM, die);
  BackgroundWorkerUnblockSignals();
  idem::server::outward(idem::cleanup::launch);
}
