#include "tool/values.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <utility>

namespace idem::tool {

namespace {

constexpr double kSecond = 1e6;

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array<Unit, 9> kUnits = {{{"", kSecond},
                                         {"us", 1},
                                         {"ms", 1e3},
                                         {"s", kSecond},
                                         {"m", 60 * kSecond},
                                         {"min", 60 * kSecond},
                                         {"h", 3600 * kSecond},
                                         {"d", 86400 * kSecond},
                                         {"w", 7 * 86400 * kSecond}}};

// A hundred years: the server takes more, but nobody means it.
constexpr double kLongest = kSecond * 86400 * 36525;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The length of the digits, with at most one point among them, that the text begins with.
std::size_t number_length(std::string_view text) {
  std::size_t length = 0;
  bool point = false;
  while (length < text.size() && (is_digit(text[length]) || (text[length] == '.' && !point)))
    point |= text[length++] == '.';
  return length;
}

std::string quoted(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

[[noreturn]] void refuse(std::string_view text, const std::string &expected) {
  throw std::invalid_argument(quoted(text) + " is not " + expected);
}

// Independent of the locale, which could want a comma.
double to_number(std::string_view digits) {
  double number = 0;
  double place = 0;
  for (const char c : digits) {
    if (c == '.') {
      place = 1;
    } else if (place == 0) {
      number = number * 10 + (c - '0');
    } else {
      place /= 10;
      number += place * (c - '0');
    }
  }
  return number;
}

}  // namespace

Duration parse_duration(std::string_view text) {
  constexpr char kExpected[] =
      "a duration such as 90, 1.5s, 250ms, 10m, 2h or 30d, of at most a hundred years";
  const std::size_t length = number_length(text);
  const std::string_view number = text.substr(0, length);
  if (number.find_first_of("0123456789") == std::string_view::npos) refuse(text, kExpected);
  for (const Unit &unit : kUnits) {
    if (unit.name != text.substr(length)) continue;
    const double microseconds = std::round(to_number(number) * unit.factor);
    if (microseconds > kLongest) break;
    return Duration(static_cast<Duration::rep>(microseconds));
  }
  refuse(text, kExpected);
}

long parse_count(std::string_view text, long least, long most) {
  const std::string expected =
      "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  if (text.empty() || text.size() > 18) refuse(text, expected);
  long number = 0;
  for (const char c : text) {
    if (!is_digit(c)) refuse(text, expected);
    number = number * 10 + (c - '0');
  }
  if (number < least || number > most) refuse(text, expected);
  return number;
}

int parse_exit_code(std::string_view text) {
  return static_cast<int>(parse_count(text, 0, 255));
}

long parse_bytes(std::string_view text) {
  // Of two streams as base64, jsonb has room for twice as much.
  constexpr long kMost = 1L << 26;
  constexpr std::string_view kSuffixes = "kM";
  const std::size_t place = text.empty() ? std::string_view::npos : kSuffixes.find(text.back());
  if (place == std::string_view::npos) return parse_count(text, 0, kMost);
  const int shift = 10 * (static_cast<int>(place) + 1);
  return parse_count(text.substr(0, text.size() - 1), 0, kMost >> shift) << shift;
}

Backoff parse_backoff(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    const Duration constant = parse_duration(text);
    return {constant, constant};
  }
  const Backoff backoff = {parse_duration(text.substr(0, dots)),
                           parse_duration(text.substr(dots + 2))};
  if (backoff.first > backoff.longest) refuse(text, "a range from a shorter to a longer wait");
  return backoff;
}

// Hours, because servers up to 14 take no more than 2^31 of a unit, and a day may have 23 of them.
std::string to_interval(Duration duration) {
  const auto microseconds = static_cast<long long>(duration.count());
  const long long seconds = microseconds / 1000000;
  char text[64];
  std::snprintf(text, sizeof text, "%lld:%02lld:%02lld.%06lld", seconds / 3600, seconds / 60 % 60,
                seconds % 60, microseconds % 1000000);
  return text;
}

std::string to_words(Duration duration) {
  constexpr std::array<std::pair<std::int64_t, const char *>, 3> kParts = {
      {{86400, " d"}, {3600, " h"}, {60, " min"}}};
  const double seconds = static_cast<double>(duration.count()) / kSecond;
  if (seconds < 60) {
    char text[32];
    std::snprintf(text, sizeof text, seconds < 10 ? "%.1f s" : "%.0f s", seconds);
    return text;
  }
  std::int64_t rest = std::llround(seconds);
  std::string words;
  int parts = 0;
  for (const auto &[size, name] : kParts) {
    if (rest < size || parts == 2) continue;
    words += (words.empty() ? "" : " ") + std::to_string(rest / size) + name;
    rest %= size;
    parts++;
  }
  if (parts < 2 && rest > 0) words += " " + std::to_string(rest) + " s";
  return words;
}

}  // namespace idem::tool
