#include "tool/commands.hpp"
#include "tool/figures.hpp"
#include "tool/lock_list.hpp"
#include "tool/operator_session.hpp"
#include "tool/text_table.hpp"

namespace idem::tool {

std::string to_locks_table(const std::vector<Json> &locks) {
  const std::vector<TextColumn> columns = {{"NAME"},  {"KIND"},    {"HOLDER"}, {"TOKEN", true},
                                           {"SINCE"}, {"ENDS IN"}, {"PID"},    {"WAITERS", true}};
  std::vector<std::vector<std::string>> rows;
  rows.reserve(locks.size());
  for (const Json &lock : locks)
    rows.push_back({text_of(lock, "name"), text_of(lock, "kind"), text_of(lock, "holder"),
                    text_of(lock, "token"), time_of(lock, "acquired_at"),
                    seconds_of(lock, "remaining_seconds"), text_of(lock, "pid"),
                    text_of(lock, "waiters")});
  return to_table(columns, rows);
}

int run_locks(const LocksOptions &options) {
  OperatorSession session(options);
  const auto locks =
      session.objects("SELECT pg_catalog.row_to_json(r) FROM (" + std::string(kLocksQuery) + ") r");
  if (!options.json) {
    print(to_locks_table(locks));
    return 0;
  }
  for (const Json &lock : locks) print(to_line(lock));
  return 0;
}

}  // namespace idem::tool
