// How a sweep ends: what is written down, what is logged, and when the table wants its next turn.

#include "cleanup/settings.hpp"
#include "cleanup/sweep.hpp"
#include "server/names.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

namespace {

// Earliest expiry of what is left, over all leaves; false when there is none.
bool find_next_expiry(Visit &visit, Sweep &sweep, TimestampTz *earliest) {
  bool known = false;
  bool *some = &known;
  ListCell *cell;
  foreach (cell, sweep.leaves) {
    const Oid relation = lfirst_oid(cell);
    const bool done = transact(
        visit,
        [&sweep, relation, some, earliest](const Premises &) {
          Leaf leaf;
          TimestampTz at;
          if (open_leaf(sweep.rule, relation, LeafUse::look, &leaf) != Opening::open) return;
          if (!next_expiry(leaf, sweep.now, &at)) return;
          *earliest = *some ? Min(*earliest, at) : at;
          *some = true;
        },
        &sweep.mishap);
    if (!done) break;
  }
  return known;
}

void log_failure(const Sweep &sweep, const char *name, TimestampTz next) {
  const char *context = sweep.mishap.context;
  ereport(WARNING,
          (errcode(sweep.mishap.sqlstate),
           errmsg("cleanup of table %s failed: %s", name, sweep.mishap.problem.message),
           sweep.progress == Progress::failed
               ? errdetail("It is tried again at %s, and then after longer and longer delays"
                           " without another message.",
                           timestamptz_to_str(next))
               : errdetail("Expired rows left behind: %d. All others go; these are tried again with"
                           " each visit without another message.",
                           sweep.refused_rows),
           errhint("The view idem_stat_cleanup of this database shows how it goes on."),
           context[0] != '\0' ? errcontext("%s", context) : 0));
}

const char *name_of(Oid table) {
  const char *name = nullptr;
  const char **result = &name;
  const MemoryContext caller = CurrentMemoryContext;
  Mishap ignored;
  (void)transact(
      [table, result, caller] {
        const char *found = server::qualified_name(table);
        if (found != nullptr) *result = MemoryContextStrdup(caller, found);
      },
      &ignored);
  return name != nullptr ? name : psprintf("%u", table);
}

// Rows that refuse to go must not be met first again, or ten of them would keep all others waiting;
// nor must what an old snapshot keeps of the rows that are gone.
ResumePoint resume_point(const Sweep &sweep) {
  if (sweep.leaves == NIL) return {};
  if (sweep.progress == Progress::under_way)
    return {list_nth_oid(sweep.leaves, sweep.leaf), sweep.cursor};
  return sweep.gave_up_at;
}

// A visit that went well may try larger ones again.
int next_cap(const Sweep &sweep, bool well) {
  constexpr int kLargest = 100000;
  const int cap = well ? sweep.cap * 2 : sweep.cap;
  return cap > kLargest ? 0 : cap;
}

TimestampTz conclude_failure(Sweep &sweep, TimestampTz now) {
  int failures = 0;
  int *count = &failures;
  TimestampTz next = now;
  TimestampTz *turn = &next;
  const bool stuck = sweep.rows == 0 && sweep.progress == Progress::failed;
  const int cap = next_cap(sweep, false);
  const ResumePoint resume = resume_point(sweep);
  (void)with_table(MyDatabaseId, sweep.rule.table, [=](TableEntry &entry) {
    *count = ++entry.failures;
    entry.finished_at = now;
    entry.resume = resume;
    entry.cap = cap;
    entry.next_turn = *turn = now + (stuck ? back_off(entry.failures, naptime()) : naptime());
  });
  if (failures == 1) log_failure(sweep, name_of(sweep.rule.table), next);
  return next;
}

void conclude_success(const Sweep &sweep, TimestampTz now, TimestampTz next) {
  int failures = 0;
  int *count = &failures;
  const ResumePoint resume = resume_point(sweep);
  const int cap = next_cap(sweep, true);
  (void)with_table(MyDatabaseId, sweep.rule.table, [=](TableEntry &entry) {
    *count = entry.failures;
    entry.cap = cap;
    entry.failures = 0;
    entry.resume = resume;
    entry.finished_at = entry.last_success_at = now;
    entry.next_turn = next;
  });
  if (failures > 0)
    ereport(LOG, (errmsg_plural("cleanup of table %s works again after %d failure",
                                "cleanup of table %s works again after %d failures",
                                static_cast<unsigned long>(failures), name_of(sweep.rule.table),
                                failures)));
}

}  // namespace

TimestampTz conclude(Visit &visit, Sweep &sweep) {
  const TimestampTz now = GetCurrentTimestamp();
  if (sweep.failed || sweep.progress == Progress::failed || sweep.refused_rows > 0)
    return conclude_failure(sweep, now);
  if (sweep.progress == Progress::under_way || sweep.met_locked_leaf) {
    const TimestampTz next = sweep.progress == Progress::under_way ? now : now + naptime();
    if (sweep.rows > 0) conclude_success(sweep, now, next);
    return next;
  }
  TimestampTz earliest;
  std::optional<Micros> next;
  if (find_next_expiry(visit, sweep, &earliest)) next = earliest;
  const TimestampTz turn = next_visit(now, naptime(), next);
  conclude_success(sweep, now, turn);
  return turn;
}

}  // namespace idem::cleanup
