#include "cleanup/tidy_months.hpp"

#include "cleanup/settings.hpp"
#include "machines/history_months.hpp"
#include "records/archive.hpp"
#include "server/months.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

namespace {

bool keeps_history(const server::Home &home) {
  return server::is_in_use(machines::kHistory, home);
}

struct Kept {
  const server::MonthlyTable *table;
  bool (*wanted)(const server::Home &home);  // whether anything will be written there
  const int *retention;                      // seconds, or -1: for ever
};

constexpr Kept kArchive = {&records::kArchive, records::archives_records,
                           &settings.archive_retention};
constexpr Kept kHistory = {&machines::kHistory, keeps_history, &settings.history_retention};

// Whoever holds it may want the extension next, and be in a deadlock with whoever waits for it.
bool lock_parent(const Kept &kept, const server::Home &home) {
  return ConditionalLockRelationOid(server::parent_of_months(*kept.table, home), AccessShareLock);
}

// In a transaction of its own, as it locks out whoever writes to the default partition.
bool make_months(Visit &visit, const Kept &kept, Mishap *mishap) {
  return transact(
      visit,
      [&visit, &kept](const Premises &premises) {
        if (lock_parent(kept, premises.home) && kept.wanted(premises.home))
          (void)server::try_to_provide_partitions(*kept.table, premises.home, visit.started_at);
      },
      mishap);
}

// One month in a transaction; with a backlog of months, one after the other.
bool drop_months(Visit &visit, const Kept &kept, Mishap *mishap) {
  server::Dropping dropping = server::Dropping::dropped;
  server::Dropping *result = &dropping;
  while (dropping == server::Dropping::dropped && *kept.retention >= 0 && !over(visit)) {
    dropping = server::Dropping::nothing_to_drop;
    const bool done = transact(
        visit,
        [&visit, &kept, result](const Premises &premises) {
          if (!lock_parent(kept, premises.home)) return;
          *result = server::drop_old_partition(*kept.table, premises.home, visit.started_at,
                                               *kept.retention);
        },
        mishap);
    if (!done) return false;
  }
  return true;
}

}  // namespace

bool tidy_months(Visit &visit, Mishap *mishap) {
  Mishap later = {};
  // Records that cannot be archived have a turn of their own that reports it.
  (void)make_months(visit, kArchive, &later);
  bool done = drop_months(visit, kArchive, mishap);
  done = make_months(visit, kHistory, done ? mishap : &later) && done;
  done = drop_months(visit, kHistory, done ? mishap : &later) && done;
  return done;
}

}  // namespace idem::cleanup
