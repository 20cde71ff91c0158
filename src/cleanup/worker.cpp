#include "cleanup/worker.hpp"

#include "cleanup/settings.hpp"
#include "cleanup/shared.hpp"
#include "cleanup/sweep.hpp"
#include "cleanup/tidy_months.hpp"
#include "server/compat.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

namespace {

constexpr Micros kShortestVisit = 10 * kSecond;

// What must hold whatever ALTER DATABASE and ALTER ROLE say.
struct Fixed {
  const char *name;
  const char *value;
};
constexpr Fixed kFixed[] = {{"search_path", "pg_catalog, pg_temp"},
                            {"lock_timeout", "1s"},
                            {"statement_timeout", "0"},
                            {"idle_in_transaction_session_timeout", "0"},
                            {"default_transaction_isolation", "read committed"},
                            {"default_transaction_read_only", "off"},
                            {"default_transaction_deferrable", "off"},
                            {"session_replication_role", "origin"},
                            {"enable_tidscan", "on"}};

void fix_settings() {
  for (const Fixed &fixed : kFixed)
    SetConfigOption(fixed.name, fixed.value, PGC_SUSET, PGC_S_OVERRIDE);
  if (GetConfigOption("transaction_timeout", true, false) != nullptr)
    SetConfigOption("transaction_timeout", "0", PGC_SUSET, PGC_S_OVERRIDE);
}

Oid served = InvalidOid;

// Runs however the worker ends; without a report the launcher takes the visit for failed.
void sign_off(int, Datum) {
  (void)with_database(served, [](DatabaseEntry &entry) {
    entry.worker = 0;
    entry.finished_at = GetCurrentTimestamp();
  });
  wake_launcher();
}

void sign_on(Oid database) {
  served = database;
  before_shmem_exit(sign_off, Datum{0});
  (void)with_database(database, [](DatabaseEntry &entry) {
    entry.worker = MyProcPid;
    entry.state = DatabaseState::running;
    entry.started_at = GetCurrentTimestamp();
  });
}

void report(DatabaseState state, TimestampTz next) {
  (void)with_database(MyDatabaseId, [=](DatabaseEntry &entry) {
    entry.state = state;
    entry.reported = true;
    entry.next_visit = next;
  });
}

void report_mishap(const Mishap &mishap) {
  const Problem problem = mishap.problem;
  (void)with_database(MyDatabaseId, [&problem](DatabaseEntry &entry) {
    entry.state = DatabaseState::failed;
    entry.problem = problem;
    entry.reported = true;
  });
}

// Ends the visit before it began, for a reason that is no error.
void report_entry(Entry entry, TimestampTz now) {
  switch (entry) {
    case Entry::no_extension:
      return report(DatabaseState::absent, now + kAbsentVisit * naptime());
    case Entry::paused:
      return report(DatabaseState::paused, now + kLatestVisit * naptime());
    case Entry::other_version: {
      Mishap mishap = {};
      mishap.sqlstate = ERRCODE_UNDEFINED_TABLE;
      mishap.problem.keep(
          "the extension in this database is of another version; ALTER EXTENSION pg_idem UPDATE");
      return report_mishap(mishap);
    }
    default:
      return report(DatabaseState::waiting, now + naptime());
  }
}

void resume(Sweep &sweep) {
  TableEntry entry;
  if (!read_table(MyDatabaseId, sweep.rule.table, &entry)) return;
  sweep.cap = entry.cap;
  int leaf = 0;
  ListCell *cell;
  foreach (cell, sweep.leaves) {
    if (lfirst_oid(cell) == entry.resume.leaf) {
      sweep.leaf = leaf;
      sweep.cursor = entry.resume.cursor;
      sweep.resumed = true;
    }
    leaf++;
  }
}

Sweep *sweep_for(const Rule &rule, TimestampTz now) {
  auto *sweep = static_cast<Sweep *>(palloc0(sizeof(Sweep)));
  sweep->rule = rule;
  sweep->now = now;
  if (!rule.records || has_addresses(rule.table)) sweep->leaves = leaves_of(rule);
  resume(*sweep);
  return sweep;
}

// Whether the table may have a turn in this visit; if not, lowers `next` to when it may. Also
// writes down that it begins.
bool has_turn(const Rule &rule, const Visit &visit, TimestampTz *next) {
  if (rule.held) return false;
  bool due = true;
  bool *result = &due;
  const TimestampTz now = visit.started_at;
  const bool requested = visit.requested;
  const Micros nap = naptime();
  // Without room for an entry it goes as well, if unseen.
  (void)with_table(MyDatabaseId, rule.table, [=](TableEntry &entry) {
    // The naptime may have become shorter since.
    const TimestampTz longest = entry.finished_at + back_off(entry.failures, nap);
    const TimestampTz turn = Min(entry.next_turn, longest);
    *result = requested || entry.failures == 0 || turn <= now;
    if (*result)
      entry.started_at = now;
    else
      *next = Min(*next, turn);
  });
  return due;
}

// Builds the sweeps of this visit, in the visit's memory context.
List *plan_sweeps(const Premises &premises, Visit &visit, TimestampTz *next) {
  const MemoryContext caller = MemoryContextSwitchTo(visit.context);
  List *sweeps = NIL;
  List *tables = NIL;
  ListCell *cell;
  foreach (cell, rules_of(premises)) {
    const Rule *rule = static_cast<const Rule *>(lfirst(cell));
    tables = lappend_oid(tables, rule->table);
    if (has_turn(*rule, visit, next)) sweeps = lappend(sweeps, sweep_for(*rule, visit.started_at));
  }
  keep_tables(MyDatabaseId, tables);
  MemoryContextSwitchTo(caller);
  return sweeps;
}

bool prepare(Visit &visit, List **sweeps, TimestampTz *next, Mishap *mishap) {
  return transact(
      visit,
      [&visit, sweeps, next](const Premises &premises) {
        tidy(premises);
        *sweeps = plan_sweeps(premises, visit, next);
      },
      mishap);
}

void note_turn(Oid table) {
  (void)with_database(MyDatabaseId, [table](DatabaseEntry &entry) { entry.last_turn = table; });
}

// Behind the table that had the last turn, so that a visit's end is not always at the cost of the
// same.
List *in_turn(List *sweeps) {
  DatabaseEntry entry = {};
  (void)read_database(MyDatabaseId, &entry);
  List *first = NIL;
  List *last = NIL;
  bool passed = false;
  ListCell *cell;
  foreach (cell, sweeps) {
    if (passed)
      first = lappend(first, lfirst(cell));
    else
      last = lappend(last, lfirst(cell));
    passed = passed || static_cast<Sweep *>(lfirst(cell))->rule.table == entry.last_turn;
  }
  return list_concat(first, last);
}

void run_sweeps(Visit &visit, List *sweeps) {
  for (bool more = true; more && !over(visit);) {
    more = false;
    ListCell *cell;
    foreach (cell, sweeps) {
      auto *sweep = static_cast<Sweep *>(lfirst(cell));
      if (sweep->progress != Progress::under_way || over(visit)) continue;
      // Before, or a turn that ends the worker would be the first of the next visit.
      note_turn(sweep->rule.table);
      take_turn(visit, *sweep);
      more = more || sweep->progress == Progress::under_way;
    }
  }
}

// The earliest turn that any table wants; `others` is what those without a turn want.
TimestampTz conclude_sweeps(Visit &visit, List *sweeps, TimestampTz others) {
  TimestampTz next = Min(others, next_visit(GetCurrentTimestamp(), naptime(), std::nullopt));
  ListCell *cell;
  foreach (cell, sweeps) {
    const TimestampTz turn = conclude(visit, *static_cast<Sweep *>(lfirst(cell)));
    next = Min(next, turn);
  }
  return next;
}

void clean_up(Visit &visit) {
  List *sweeps = NIL;
  Mishap mishap = {};
  TimestampTz others = DT_NOEND;
  if (!prepare(visit, &sweeps, &others, &mishap)) return report_mishap(mishap);
  if (visit.entry != Entry::open) return report_entry(visit.entry, visit.started_at);
  const bool tidied = tidy_months(visit, &mishap);
  run_sweeps(visit, in_turn(sweeps));
  const TimestampTz next = conclude_sweeps(visit, sweeps, others);
  if (!tidied) return report_mishap(mishap);
  if (visit.entry != Entry::open) return report_entry(visit.entry, GetCurrentTimestamp());
  report(DatabaseState::waiting, next);
}

}  // namespace

void visit_database(Oid database, const WorkerOrder &order) {
  sign_on(database);
  BackgroundWorkerInitializeConnectionByOid(database, order.role,
                                            server::worker_connection_flags());
  (void)with_database(database, [](DatabaseEntry &entry) { entry.connected = true; });
  fix_settings();
  const TimestampTz now = GetCurrentTimestamp();
  Visit visit = {
      now, now + Max(naptime(), kShortestVisit), order.requested, Entry::open,
      AllocSetContextCreate(TopMemoryContext, "pg_idem cleanup", ALLOCSET_DEFAULT_SIZES)};
  MemoryContextSwitchTo(visit.context);
  clean_up(visit);
  pgstat_report_stat(true);
}

}  // namespace idem::cleanup

extern "C" {
PGDLLEXPORT void idem_cleanup_worker_main(Datum database);
}

void idem_cleanup_worker_main(Datum database) {
  pqsignal(SIGHUP, SignalHandlerForConfigReload);
  pqsignal(SIGTERM, die);
  BackgroundWorkerUnblockSignals();
  idem::cleanup::WorkerOrder order;
  memcpy(&order, MyBgworkerEntry->bgw_extra, sizeof(order));
  idem::server::outward(idem::cleanup::visit_database, DatumGetObjectId(database), order);
}
