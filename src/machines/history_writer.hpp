// Writing rows of the history past the planner and the executor, many at a time.

#pragma once

#include "server/prelude.hpp"
#include "server/statement.hpp"

namespace idem::machines {

// Rows in the order and with the columns of idem_history.
struct HistoryRows {
  server::Home home;
  Tuplestorestate *rows;
  TupleDesc descriptor;
  TimestampTz first;  // the earliest and the latest of them
  TimestampTz last;
};

// Writes all rows into the partition that they belong to. False, with nothing written, when SQL has
// to do it: they belong to several, or the partition is not the plain table that we made, or
// idem.direct_access is off.
bool write_directly(const HistoryRows &rows);

}  // namespace idem::machines
