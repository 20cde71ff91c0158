// When to clean up and how fast: decisions on times alone. Pure C++: may throw idem::Error.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace idem::cleanup {

// Microseconds, as the server counts time.
using Micros = std::int64_t;
inline constexpr Micros kSecond = 1000000;

// A time of day from which to which cleanup may run, in minutes since midnight. An end at or before
// the start lies on the next day.
struct Window {
  int from;
  int to;
};

// Windows such as "01:00-05:00, 22:30-24:00"; an empty text gives none, which means always. Throws
// ID400 with what is wrong and an example of what is right.
std::vector<Window> parse_windows(const std::string &text);

// How long from this time of day until every window that is open now has closed; nothing when none
// is open. Without windows it is a day.
std::optional<Micros> open_for(const std::vector<Window> &windows, Micros time_of_day);

// How long until a window opens: 0 when one is open.
Micros opens_in(const std::vector<Window> &windows, Micros time_of_day);

// How long to leave something alone that failed `failures` times in a row: doubled each time, from
// one naptime up to an hour, or one naptime if that is longer. 0 without failures.
Micros back_off(int failures, Micros naptime);

// Naptimes after which a database is looked at in any case: one with the extension, one without.
inline constexpr int kLatestVisit = 10;
inline constexpr int kAbsentVisit = 60;

// When to come back to a database or table in which nothing was left to do at `now`, and the next
// row expires at `next_expiry` (if any is known).
Micros next_visit(Micros now, Micros naptime, std::optional<Micros> next_expiry);

// How long a sweep that has taken `rows` rows in `elapsed` has to rest before it takes more; never
// with a rate of 0.
Micros rest_after(std::int64_t rows, Micros elapsed, std::int64_t rows_per_second);

// Rows for one transaction. With a rate it is a small part of a second's worth: who limits the rate
// wants others not to notice, and a large batch is a stall with a pause behind it.
int batch_size(int batch, int rows_per_second);

}  // namespace idem::cleanup
