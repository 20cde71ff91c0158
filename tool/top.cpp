#include "tool/commands.hpp"
#include "tool/figures.hpp"
#include "tool/lock_list.hpp"
#include "tool/operator_session.hpp"
#include "tool/screen.hpp"
#include "tool/text_table.hpp"

namespace idem::tool {

namespace {

// Locks are records too, and shown for themselves.
constexpr char kRecords[] =
    "SELECT scope, key, owner, attempt, token, checkpoint, created_at, "
    "pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) created_at) "
    "AS age_seconds, pg_catalog.date_part('epoch', lease_expires_at OPERATOR(pg_catalog.-) "
    "pg_catalog.clock_timestamp()) AS lease_seconds FROM @.idem_records "
    "WHERE status OPERATOR(pg_catalog.=) 'in_progress' AND scope OPERATOR(pg_catalog.<>) "
    "'idem.lock' "
    "AND ($1::pg_catalog.text IS NULL OR scope OPERATOR(pg_catalog.=) $1) "
    "ORDER BY created_at, scope, key LIMIT 1000";

std::string aggregated(const char *query) {
  return std::string("COALESCE((SELECT pg_catalog.json_agg(r) FROM (") + query + ") r), '[]')";
}

// One statement, so that both halves of a page belong to the same moment.
std::string page_statement() {
  return "SELECT pg_catalog.json_build_object('time', pg_catalog.clock_timestamp(), 'database', "
         "pg_catalog.current_database(), 'locks', " +
         aggregated(kLocksQuery) + ", 'records', " + aggregated(kRecords) + ")";
}

std::string lease_left(const Json &record) {
  const auto left = record.find("lease_seconds");
  if (left == record.end() || !left->is_number()) return "over";
  return left->get<double>() <= 0 ? "over" : seconds_of(record, "lease_seconds");
}

std::string to_records_table(const Json &records) {
  const std::vector<TextColumn> columns = {{"SCOPE"}, {"KEY"},   {"OWNER"},     {"ATTEMPT", true},
                                           {"AGE"},   {"LEASE"}, {"CHECKPOINT"}};
  std::vector<std::vector<std::string>> rows;
  for (const Json &record : records)
    rows.push_back({text_of(record, "scope"), text_of(record, "key"), text_of(record, "owner"),
                    text_of(record, "attempt"), seconds_of(record, "age_seconds"),
                    lease_left(record), text_of(record, "checkpoint")});
  return to_table(columns, rows);
}

std::string to_page(const Json &page, const std::string &place) {
  const auto &locks = page.at("locks");
  const auto &records = page.at("records");
  return "pgidem top  " + time_of(page, "time") + "  " + text_of(page, "database") + " at " +
         place + "  locks: " + std::to_string(locks.size()) +
         "  in progress: " + std::to_string(records.size()) + "\n\n" +
         to_locks_table(std::vector<Json>(locks.begin(), locks.end())) + "\n" +
         to_records_table(records) + "\n";
}

// The signal that ended it, or 0.
int watch(const TopOptions &options, OperatorSession &session) {
  Screen screen(options.json);
  for (long frame = 1;; frame++) {
    const Json page = session.objects(page_statement(), {options.scope}).at(0);
    screen.show(options.json ? to_line(page) : to_page(page, session.place()));
    if (options.frames && frame >= *options.frames) return 0;
    if (!screen.wait(options.delay)) return screen.signal();
  }
}

}  // namespace

int run_top(const TopOptions &options) {
  OperatorSession session(options);
  const int signal = watch(options, session);
  if (signal != 0) die_of(signal);
  return 0;
}

}  // namespace idem::tool
