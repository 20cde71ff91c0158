// Returning rows from an SQL-callable function.

#pragma once

#include "server/prelude.hpp"

namespace idem::server {

struct Rows {
  Tuplestorestate *store;
  TupleDesc descriptor;

  void add(Datum *values, bool *nulls) const {
    tuplestore_putvalues(store, descriptor, values, nulls);
  }
};

// Prepares a function that returns a set to do so, of rows or of single values; its own return
// value does not count then. Raises 0A000 where the caller cannot take a set.
Rows begin_rows(FunctionCallInfo fcinfo);

// The row of a function that returns one.
Datum row_datum(FunctionCallInfo fcinfo, const Datum *values, const bool *nulls);

}  // namespace idem::server
