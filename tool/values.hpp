// Reading the values of options. What is not wholly a value of its kind throws
// std::invalid_argument with a phrase that fits behind the option's name.

#pragma once

#include <string>
#include <string_view>

#include "tool/clock.hpp"

namespace idem::tool {

// Seconds, or a number with one of the units us, ms, s, m (or min), h, d, w: "90", "1.5h", "250ms".
Duration parse_duration(std::string_view text);

// A decimal number from least to most, without sign or blanks.
long parse_count(std::string_view text, long least, long most);

int parse_exit_code(std::string_view text);

// A number of bytes, with k or M for the powers of 1024, up to 64M.
long parse_bytes(std::string_view text);

// The waits between attempts: from the first one to the longest.
struct Backoff {
  Duration first;
  Duration longest;

  bool operator==(const Backoff &other) const {
    return first == other.first && longest == other.longest;
  }
};

// "1s..1m", or one duration for waits that do not grow.
Backoff parse_backoff(std::string_view text);

// As PostgreSQL reads an interval, to the microsecond.
std::string to_interval(Duration duration);

// For people: "1.5 s", "2 min 5 s", "3 d 4 h".
std::string to_words(Duration duration);

}  // namespace idem::tool
