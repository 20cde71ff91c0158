#include "tool/commands.hpp"
#include "tool/figures.hpp"
#include "tool/operator_session.hpp"
#include "tool/text_table.hpp"

namespace idem::tool {

namespace {

// Work whose lease is over is abandoned, whatever its status says.
constexpr char kRecords[] =
    "SELECT pg_catalog.row_to_json(r) FROM (SELECT scope, "
    "CASE WHEN status OPERATOR(pg_catalog.=) 'in_progress' AND lease_expires_at "
    "OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp() THEN 'abandoned' ELSE status END "
    "AS status, pg_catalog.count(*) AS count, pg_catalog.count(*) FILTER (WHERE expires_at "
    "OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp()) AS expired, "
    "pg_catalog.min(created_at) AS oldest, pg_catalog.max(attempt) AS most_attempts "
    "FROM @.idem_records WHERE $1::pg_catalog.text IS NULL OR scope OPERATOR(pg_catalog.=) $1 "
    "GROUP BY 1, 2 ORDER BY 1, 2) r";

constexpr char kCleanup[] =
    "SELECT pg_catalog.row_to_json(r) FROM (SELECT relation, action, state, started_at, "
    "finished_at, last_success_at, rows, batches, errors, last_error, last_error_at, "
    "pg_catalog.date_part('epoch', oldest_expired_age) AS oldest_expired_seconds, "
    "backlog_estimate, next_run_at FROM @.idem_stat_cleanup) r";

std::string to_records_table(const std::vector<Json> &records) {
  const std::vector<TextColumn> columns = {{"SCOPE"},         {"STATUS"}, {"COUNT", true},
                                           {"EXPIRED", true}, {"OLDEST"}, {"MOST ATTEMPTS", true}};
  std::vector<std::vector<std::string>> rows;
  rows.reserve(records.size());
  for (const Json &record : records)
    rows.push_back({text_of(record, "scope"), text_of(record, "status"), text_of(record, "count"),
                    text_of(record, "expired"), time_of(record, "oldest"),
                    text_of(record, "most_attempts")});
  return to_table(columns, rows);
}

std::string to_cleanup_table(const std::vector<Json> &relations) {
  const std::vector<TextColumn> columns = {{"RELATION"},      {"ACTION"},         {"STATE"},
                                           {"ROWS", true},    {"ERRORS", true},   {"LAST SUCCESS"},
                                           {"BACKLOG", true}, {"OLDEST EXPIRED"}, {"NEXT RUN"}};
  std::vector<std::vector<std::string>> rows;
  rows.reserve(relations.size());
  for (const Json &relation : relations)
    rows.push_back(
        {text_of(relation, "relation"), text_of(relation, "action"), text_of(relation, "state"),
         text_of(relation, "rows"), text_of(relation, "errors"),
         time_of(relation, "last_success_at"), text_of(relation, "backlog_estimate"),
         seconds_of(relation, "oldest_expired_seconds"), time_of(relation, "next_run_at")});
  return to_table(columns, rows);
}

void print_lines(const char *kind, const std::vector<Json> &objects) {
  for (const Json &object : objects) {
    Json line = {{"kind", kind}};
    line.update(object);
    print(to_line(line));
  }
}

}  // namespace

int run_stat(const StatOptions &options) {
  OperatorSession session(options);
  const auto records = session.objects(kRecords, {options.scope});
  const auto cleanup = session.objects(kCleanup);
  if (options.json) {
    print_lines("records", records);
    print_lines("cleanup", cleanup);
  } else {
    print(to_records_table(records) + "\n" + to_cleanup_table(cleanup));
  }
  return 0;
}

}  // namespace idem::tool
