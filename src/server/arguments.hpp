// Reading and checking SQL arguments. Server C++: everything here may ereport with ID400.

#pragma once

#include <cstdint>
#include <string_view>

#include "server/prelude.hpp"

namespace idem::server {

inline std::string_view view_of(const text *value) {
  return {VARDATA_ANY(value), static_cast<std::size_t>(VARSIZE_ANY_EXHDR(value))};
}

// A text or bytea argument of 1 to `limit` bytes, detoasted into the current memory context; `what`
// names it in errors.
const text *required_text(FunctionCallInfo fcinfo, int number, const char *what, std::size_t limit);

// The same, but NULL is allowed and gives null.
const text *limited_text(FunctionCallInfo fcinfo, int number, const char *what, std::size_t limit);

// Raises unless the argument is NULL or one of the two words.
void require_choice(FunctionCallInfo fcinfo, int number, const char *what, const char *first,
                    const char *second);

enum class Infinite { refused, allowed };

// now + interval, which must be later than now unless `allow_zero`. An infinite interval gives the
// timestamp 'infinity' where allowed. Calendar units count in the session's time zone, as they do
// for the server's own `timestamptz + interval`.
TimestampTz deadline(TimestampTz now, const Interval *interval, const char *what, Infinite infinite,
                     bool allow_zero);

// Raises 25006 in a read-only transaction or on a standby, naming the function.
void require_writable(const char *function);

}  // namespace idem::server
