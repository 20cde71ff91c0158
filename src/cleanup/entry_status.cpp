// idem_cleanup_status: what the view idem_stat_cleanup shows.

#include "cleanup/leaf.hpp"
#include "cleanup/review.hpp"
#include "cleanup/rules.hpp"
#include "cleanup/settings.hpp"
#include "cleanup/shared.hpp"
#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "server/rows.hpp"

namespace {

using idem::cleanup::DatabaseEntry;
using idem::cleanup::Leaf;
using idem::cleanup::Premises;
using idem::cleanup::Problem;
using idem::cleanup::Rule;
using idem::cleanup::TableEntry;

// One row, filled column by column.
struct Row {
  static constexpr int kColumns = 14;
  Datum values[kColumns];
  bool nulls[kColumns];
  int count = 0;

  void add(Datum value, bool isnull = false) {
    values[count] = value;
    nulls[count++] = isnull;
  }
  void add_text(const char *text) {
    add(text == nullptr ? Datum{0} : CStringGetTextDatum(text), text == nullptr);
  }
  void add_time(TimestampTz time) { add(TimestampTzGetDatum(time), time == 0); }
};

struct Live {
  bool known;
  bool some;
  TimestampTz oldest;
  std::int64_t backlog;
};

void look_at_leaf(const Rule &rule, Oid relation, TimestampTz now, Live *live) {
  Leaf leaf;
  if (idem::cleanup::open_leaf(rule, relation, idem::cleanup::LeafUse::look, &leaf) !=
      idem::cleanup::Opening::open)
    return;
  TimestampTz at;
  if (!idem::cleanup::oldest_expired(leaf, now, &at)) return;
  // An age must be finite; that of the year 2000 alarms as well.
  if (TIMESTAMP_IS_NOBEGIN(at)) at = 0;
  live->oldest = live->some ? Min(live->oldest, at) : at;
  live->some = true;
  const std::int64_t estimate = idem::cleanup::estimate_backlog(leaf, now);
  live->backlog += Max(estimate, 1);
}

// What is left to do now; unknown where a table can no longer expire, which the worker reports.
Live look_at(const Rule &rule, TimestampTz now) {
  Live live = {true, false, 0, 0};
  ListCell *cell;
  foreach (cell, idem::cleanup::leaves_of(rule)) {
    const Oid relation = lfirst_oid(cell);
    if (!idem::cleanup::can_expire(rule, relation))
      live.known = false;
    else
      look_at_leaf(rule, relation, now, &live);
  }
  return live;
}

const char *state_of_database(const Premises &premises, const DatabaseEntry *entry) {
  if (RecoveryInProgress()) return "standby";
  if (idem::cleanup::is_paused(premises)) return "paused";
  if (entry == nullptr) return "not preloaded";
  if (!idem::cleanup::settings.enabled) return "off";
  if (!idem::cleanup::serves_database(get_database_name(MyDatabaseId))) return "not listed";
  if (entry->worker != 0) return "running";
  return entry->failures > 0 ? "failing" : nullptr;
}

const char *state_of(const Rule &rule, const char *database, const TableEntry &entry) {
  if (rule.held) return "held";
  if (database != nullptr) return database;
  if (entry.failures > 0) return "failing";
  return "waiting";
}

// The database's own trouble is everybody's.
const Problem &problem_of(const DatabaseEntry *database, const TableEntry &table) {
  return database != nullptr && database->failures > 0 ? database->problem : table.problem;
}

// `state` is that of the database, if it has one that all tables share.
TimestampTz next_run_of(const Rule &rule, const char *state, const DatabaseEntry *database,
                        const TableEntry &table) {
  const bool stopped =
      state != nullptr && strcmp(state, "running") != 0 && strcmp(state, "failing") != 0;
  if (database == nullptr || rule.held || stopped) return 0;
  const TimestampTz due = idem::cleanup::due_at(*database);
  const TimestampTz next = table.failures > 0 ? Max(table.next_turn, due) : due;
  return Max(next, idem::cleanup::window_opens_at());
}

void fill(Row &row, const Rule &rule, const char *state, const DatabaseEntry *database,
          const TableEntry &table, const Live &live, TimestampTz now) {
  const Problem &problem = problem_of(database, table);
  row.add(ObjectIdGetDatum(rule.table));
  row.add_text(rule.records ? "policy" : OidIsValid(rule.archive) ? "archive" : "delete");
  row.add_text(state_of(rule, state, table));
  row.add_time(table.started_at);
  row.add_time(table.finished_at);
  row.add_time(table.last_success_at);
  row.add(Int64GetDatum(table.rows), database == nullptr);
  row.add(Int64GetDatum(table.batches), database == nullptr);
  row.add(Int64GetDatum(table.errors), database == nullptr);
  row.add_text(problem.message[0] == '\0' ? nullptr : problem.message);
  row.add_time(problem.at);
  row.add(live.some ? DirectFunctionCall2(timestamp_mi, TimestampTzGetDatum(now),
                                          TimestampTzGetDatum(live.oldest))
                    : Datum{0},
          !live.some);
  row.add(Int64GetDatum(live.backlog), !live.known);
  row.add_time(next_run_of(rule, state, database, table));
}

}  // namespace

IDEM_FUNCTION(idem_cleanup_status) {
  const Premises premises = idem::cleanup::premises_of(fcinfo);
  const idem::server::Rows rows = idem::server::begin_rows(fcinfo);
  DatabaseEntry entry = {};
  const bool shared =
      idem::cleanup::available() && idem::cleanup::read_database(MyDatabaseId, &entry);
  const DatabaseEntry *database = shared ? &entry : nullptr;
  const char *state = state_of_database(premises, database);
  const TimestampTz now = GetCurrentTimestamp();
  ListCell *cell;
  foreach (cell, idem::cleanup::rules_of(premises)) {
    const auto *rule = static_cast<const Rule *>(lfirst(cell));
    TableEntry table = {};
    if (shared) (void)idem::cleanup::read_table(MyDatabaseId, rule->table, &table);
    Row row;
    fill(row, *rule, state, database, table, look_at(*rule, now), now);
    rows.add(row.values, row.nulls);
  }
  return Datum{0};
}
