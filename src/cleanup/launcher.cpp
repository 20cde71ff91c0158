#include "cleanup/launcher.hpp"

#include "cleanup/databases.hpp"
#include "cleanup/review.hpp"
#include "cleanup/settings.hpp"
#include "cleanup/shared.hpp"
#include "cleanup/worker.hpp"
#include "server/compat.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

namespace {

constexpr int kRestartSeconds = 5;

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

// As the owner, unless that has just failed, as with limits on connections.
Oid role_of_visit(const Database &database, const DatabaseEntry &entry) {
  return entry.failures > 0 && !entry.connected ? InvalidOid : database.role;
}

BackgroundWorker describe_worker(const Database &database, const WorkerOrder &order) {
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
  BackgroundWorker worker = describe_worker(database, {role_of_visit(database, candidate.entry),
                                                       candidate.entry.request == Request::now});
  (void)with_database(database.oid, [stop_at](DatabaseEntry &entry) {
    entry.state = DatabaseState::starting;
    entry.reported = entry.connected = false;
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
  (void)with_database(before.database, [&before](DatabaseEntry &entry) {
    entry.state = before.state;
    entry.reported = before.reported;
    entry.request = entry.request > before.request ? entry.request : before.request;
  });
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
  const TimestampTz due = entry.request == Request::soon ? now : due_at(entry);
  const TimestampTz next = Max(due, now);
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
      if (entry.worker == 0) return;
      if (!served)
        entry.stop_at = now;
      else if (entry.stop_at != DT_NOEND)
        entry.stop_at = closing;
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
  List *databases = list_databases();
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
  // Nothing runs that could be cancelled, and it would end the process.
  QueryCancelPending = 0;
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
