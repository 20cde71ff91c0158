// A JSON value as a value of an SQL type.

#pragma once

#include "server/prelude.hpp"

namespace idem::server {

// A json or jsonb parameter takes the value as it is. An array parameter takes a JSON array element
// by element. Everything else takes the value's text (a string without its quotes) through the
// type's input function, whose errors pass through. `value` must not be JSON null.
Datum sql_value(const JsonbValue &value, Oid type);

}  // namespace idem::server
