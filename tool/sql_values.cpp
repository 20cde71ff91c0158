#include "tool/sql_values.hpp"

#include <cstdlib>

#include "tool/values.hpp"

namespace idem::tool {

Value to_value(const std::optional<Duration> &duration) {
  if (!duration) return std::nullopt;
  return to_interval(*duration);
}

Duration to_duration(const Value &seconds) {
  const double number = std::strtod(seconds.value_or("0").c_str(), nullptr);
  return Duration(static_cast<Duration::rep>(number * 1e6));
}

double to_seconds(Duration duration) {
  return static_cast<double>(duration.count()) / 1e6;
}

}  // namespace idem::tool
