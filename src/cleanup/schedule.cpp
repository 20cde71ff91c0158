#include "cleanup/schedule.hpp"

#include <algorithm>

#include "server/error.hpp"

namespace idem::cleanup {

namespace {

constexpr int kDayMinutes = 24 * 60;
constexpr Micros kMinute = 60 * kSecond;
constexpr Micros kDay = kDayMinutes * kMinute;
constexpr Micros kLongestDelay = 60 * kMinute;
constexpr int kBatchesPerSecond = 50;

[[noreturn]] void refuse(const std::string &window) {
  throw Error(sqlstate::kBadArgument, "\"" + window + "\" is not a time window",
              "A window is two times of day from 00:00 to 24:00.",
              "Write for example '01:00-05:00', or '01:00-05:00, 22:30-24:00' for two.");
}

std::string trimmed(const std::string &text) {
  const char *blank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blank);
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  for (std::size_t end; (end = text.find(separator, start)) != std::string::npos; start = end + 1)
    parts.push_back(trimmed(text.substr(start, end - start)));
  parts.push_back(trimmed(text.substr(start)));
  return parts;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// "hh:mm" or "h:mm", or nothing.
std::optional<int> minute_of_day(const std::string &text) {
  const std::size_t colon = text.find(':');
  if (colon < 1 || colon > 2 || text.size() != colon + 3) return {};
  int parts[2] = {0, 0};
  for (std::size_t i = 0; i < text.size(); i++) {
    if (i == colon) continue;
    if (!is_digit(text[i])) return {};
    int &part = parts[i > colon];
    part = part * 10 + (text[i] - '0');
  }
  const int minute = parts[0] * 60 + parts[1];
  if (parts[1] > 59 || minute > kDayMinutes) return {};
  return minute;
}

Window parse_window(const std::string &text) {
  const std::vector<std::string> ends = split(text, '-');
  if (ends.size() != 2) refuse(text);
  const std::optional<int> from = minute_of_day(ends[0]);
  const std::optional<int> to = minute_of_day(ends[1]);
  if (!from || !to || *from == kDayMinutes || *from == *to) refuse(text);
  return {*from, *to};
}

// How long the window stays open, or nothing when it is closed.
std::optional<Micros> open_for(const Window &window, Micros time_of_day) {
  const Micros from = window.from * kMinute;
  const Micros to = window.to * kMinute + (window.to <= window.from ? kDay : 0);
  for (const Micros time : {time_of_day, time_of_day + kDay})
    if (time >= from && time < to) return to - time;
  return {};
}

Micros opens_in(const Window &window, Micros time_of_day) {
  if (open_for(window, time_of_day)) return 0;
  const Micros from = window.from * kMinute;
  return from > time_of_day ? from - time_of_day : from + kDay - time_of_day;
}

}  // namespace

std::vector<Window> parse_windows(const std::string &text) {
  std::vector<Window> windows;
  if (trimmed(text).empty()) return windows;
  for (const std::string &part : split(text, ',')) windows.push_back(parse_window(part));
  return windows;
}

std::optional<Micros> open_for(const std::vector<Window> &windows, Micros time_of_day) {
  if (windows.empty()) return kDay;
  Micros longest = 0;
  // Windows may meet: where one closes another may be open.
  for (bool longer = true; longer && longest < kDay;) {
    longer = false;
    for (const Window &window : windows) {
      const std::optional<Micros> rest = open_for(window, (time_of_day + longest) % kDay);
      if (!rest) continue;
      longest += *rest;
      longer = true;
    }
  }
  if (longest == 0) return {};
  return std::min(longest, kDay);
}

Micros opens_in(const std::vector<Window> &windows, Micros time_of_day) {
  if (windows.empty()) return 0;
  Micros soonest = kDay;
  for (const Window &window : windows) soonest = std::min(soonest, opens_in(window, time_of_day));
  return soonest;
}

Micros back_off(int failures, Micros naptime) {
  if (failures <= 0) return 0;
  const Micros longest = std::max(kLongestDelay, naptime);
  Micros delay = naptime;
  for (int i = 1; i < failures && delay < longest; i++) delay *= 2;
  return std::min(delay, longest);
}

Micros next_visit(Micros now, Micros naptime, std::optional<Micros> next_expiry) {
  const Micros latest = now + kLatestVisit * naptime;
  return std::clamp(next_expiry.value_or(latest), now + naptime, latest);
}

Micros rest_after(std::int64_t rows, Micros elapsed, std::int64_t rows_per_second) {
  if (rows_per_second <= 0) return 0;
  // Divided first: a sweep may take billions of rows.
  const Micros due =
      rows / rows_per_second * kSecond + rows % rows_per_second * kSecond / rows_per_second;
  return std::max<Micros>(due - elapsed, 0);
}

int batch_size(int batch, int rows_per_second) {
  if (rows_per_second == 0) return batch;
  return std::clamp(rows_per_second / kBatchesPerSecond, 1, batch);
}

}  // namespace idem::cleanup
