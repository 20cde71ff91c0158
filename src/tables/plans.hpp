// Plans that are kept for the session by the text of their statement and the types of its
// parameters, a bounded number of them.

#pragma once

#include "server/prelude.hpp"

namespace idem::tables {

// A plan for the statement, saved. Call between SPI_connect and SPI_finish. Whoever executes it
// does so by execute_plan().
struct Plan {
  SPIPlanPtr plan;
  int place;  // among those kept, or -1
};
Plan plan_for(const char *sql, int parameters, const Oid *types);

// As SPI_execute_plan.
int execute_plan(const Plan &plan, Datum *values, const char *nulls, bool read_only, long limit);

}  // namespace idem::tables
