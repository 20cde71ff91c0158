#include "cleanup/review.hpp"

#include "cleanup/settings.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

namespace {

void log_failure(const Database &database, const DatabaseEntry &entry) {
  ereport(WARNING,
          (errmsg("cleanup of database \"%s\" failed: %s", database.name, entry.problem.message),
           errdetail("It is tried again at %s, and then after longer and longer delays without "
                     "another message.",
                     timestamptz_to_str(entry.next_visit))));
}

void log_recovery(const Database &database, int failures) {
  ereport(LOG, (errmsg_plural("cleanup of database \"%s\" works again after %d failure",
                              "cleanup of database \"%s\" works again after %d failures",
                              static_cast<unsigned long>(failures), database.name, failures)));
}

Micros longest_delay(const DatabaseEntry &entry) {
  switch (entry.state) {
    case DatabaseState::failed:
      return back_off(entry.failures, naptime());
    case DatabaseState::absent:
      return kAbsentVisit * naptime();
    default:
      return kLatestVisit * naptime();
  }
}

}  // namespace

TimestampTz due_at(const DatabaseEntry &entry) {
  const TimestampTz latest = entry.finished_at + longest_delay(entry);
  return Min(entry.next_visit, latest);
}

void review_visit(const Database &database, const DatabaseEntry &seen) {
  const bool ended = seen.state == DatabaseState::starting || seen.state == DatabaseState::running;
  const bool failed = ended || (seen.state == DatabaseState::failed && seen.reported);
  if (!failed) {
    // What was drawn from a failure before says nothing of health.
    if (seen.failures == 0 || !seen.reported) return;
    (void)with_database(database.oid, [](DatabaseEntry &entry) { entry.failures = 0; });
    log_recovery(database, seen.failures);
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

}  // namespace idem::cleanup
