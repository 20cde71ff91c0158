#include "tool/surroundings.hpp"

#include <pwd.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <stdexcept>

#include "tool/exit_codes.hpp"
#include "tool/failure.hpp"

namespace idem::tool {

namespace {

std::tm broken_down(std::time_t time, bool utc) {
  std::tm parts = {};
  if (utc)
    gmtime_r(&time, &parts);
  else
    localtime_r(&time, &parts);
  return parts;
}

// By the calendar: a day has 23 or 25 hours twice a year.
std::tm day_before(std::tm day, bool utc) {
  day.tm_mday--;
  day.tm_hour = 12;
  day.tm_min = 0;
  day.tm_sec = 0;
  day.tm_isdst = -1;
  return broken_down(utc ? timegm(&day) : mktime(&day), utc);
}

std::optional<std::string> environment_variable(const std::string &name) {
  const char *value = std::getenv(name.c_str());
  if (!value) return std::nullopt;
  return value;
}

}  // namespace

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

std::string user_name() {
  const passwd *entry = getpwuid(geteuid());
  return entry ? entry->pw_name : std::to_string(geteuid());
}

Surroundings surroundings_now(bool utc) {
  const std::time_t time = std::time(nullptr);
  const std::tm now = broken_down(time, utc);
  return {now, day_before(now, utc), host_name(), user_name(), environment_variable};
}

std::string expand_option(const std::string &text, const char *option,
                          const Surroundings &surroundings) {
  try {
    return expand(text, surroundings);
  } catch (const std::invalid_argument &error) {
    throw Failure(kUsage, std::string(option) + ": " + error.what());
  }
}

std::string make_owner() {
  char text[32];
  std::snprintf(text, sizeof text, ":%ld/%08lx", static_cast<long>(getpid()),
                static_cast<unsigned long>(std::random_device()()));
  return (user_name() + "@" + host_name()).substr(0, 200) + text;
}

}  // namespace idem::tool
