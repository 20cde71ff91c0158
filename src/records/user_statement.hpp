// A statement of the caller's, run with the caller's rights inside idem_execute.

#pragma once

#include "server/prelude.hpp"

namespace idem::records {

// Runs the one SQL statement in `source` with the elements of the JSON array `arguments` as $1, $2,
// …; each takes the type that the statement gives its parameter. Returns an array of row objects
// when the statement returns rows, else the number of rows it affected. Plans are kept per session.
// Raises ID400 for what is not one statement, or other than its number of arguments, and whatever
// the statement itself raises.
Datum run_user_statement(const text *source, Jsonb *arguments);

}  // namespace idem::records
