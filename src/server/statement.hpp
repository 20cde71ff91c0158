// Our own SQL: prepared once per session, run as the owner of the tables it touches.

#pragma once

#include "server/prelude.hpp"

namespace idem::server {

// One SQL text with its saved plan. Give it static storage and constant initialisation; the plan is
// made on first use and again after the schema was renamed or the extension re-created elsewhere.
struct Statement {
  // '@' stands for the quoted schema and a dot.
  const char *sql;
  int parameters;
  Oid types[17];
  SPIPlanPtr plan = nullptr;
  Oid schema = InvalidOid;
  NameData schema_name = {};
  uint64 generation = 0;
};

// Where and as whom a statement runs.
struct Home {
  Oid schema;
  Oid owner;
  // Read-write statements see what is committed by now at any isolation level.
  bool newest = false;
};

// Runs the statement between SPI_connect and SPI_finish (the caller's) and returns SPI_processed;
// rows are in SPI_tuptable. `nulls` is as for SPI_execute_plan. A read-write statement sees a fresh
// snapshot at READ COMMITTED.
uint64 run(Statement &statement, const Home &home, Datum *values, const char *nulls, bool read_only,
           long limit);

// Connects, runs the statement for its effect, and disconnects.
uint64 execute(Statement &statement, const Home &home, Datum *values, const char *nulls);

// Both for a text that is not worth a saved plan, such as DDL. '@' stands for itself. It sees what
// is committed by now, as DDL does, at any isolation level.
uint64 run_text(const Home &home, const char *sql);
void execute_text(const Home &home, const char *sql);

// Runs a text for its effect with the rights and the search_path that are in force.
void execute_for_caller(const char *sql);

// Runs `call(argument)` in a subtransaction in which no lock is waited for longer than `limit_ms`
// (counted for each lock; 0: as long as the caller's lock_timeout lets it). What the call did is
// kept if it returns true, and rolled back with the row locks it met otherwise. Returns false, with
// the subtransaction rolled back, when a lock wait ended at the limit; every other ERROR passes
// through.
bool run_within(int limit_ms, bool (*call)(void *), void *argument);

// The same until a deadline. Where `heed_timeout`, a lock_timeout of the caller's that is shorter
// than what is left keeps its meaning, and raises 55P03.
bool run_until(TimestampTz deadline, bool heed_timeout, bool (*call)(void *), void *argument);

}  // namespace idem::server
