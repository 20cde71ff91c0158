// The locks that are held, as locks and top show them.

#pragma once

#include <string>
#include <vector>

#include "tool/report.hpp"

namespace idem::tool {

// A query whose rows have a member for each column of idem_locks, durations in seconds.
inline constexpr char kLocksQuery[] =
    "SELECT l.name, l.kind, l.holder, l.token, l.acquired_at, l.expires_at, "
    "pg_catalog.date_part('epoch', l.remaining) AS remaining_seconds, l.waiters, l.pid, l.data "
    "FROM @.idem_locks l ORDER BY l.acquired_at, l.name, l.token";

std::string to_locks_table(const std::vector<Json> &locks);

}  // namespace idem::tool
