// Values of SQL types as JSON and as text, and back.

#pragma once

#include "server/prelude.hpp"

namespace idem::server {

// A json or jsonb parameter takes the value as it is. An array parameter takes a JSON array element
// by element. Everything else takes the value's text (a string without its quotes) through the
// type's input function, whose errors pass through. `value` must not be JSON null.
Datum sql_value(const JsonbValue &value, Oid type);

// JSON null as well, which is NULL. A domain may refuse it.
NullableDatum nullable_sql_value(const JsonbValue &value, Oid type);

// A JSON string, or JSON null for a null pointer. Points to the text.
JsonbValue string_value(const char *text);

// By the input and output functions of the type, whose errors pass through.
Datum value_from_text(const char *text, Oid type);
char *text_from_value(Datum value, Oid type);

}  // namespace idem::server
