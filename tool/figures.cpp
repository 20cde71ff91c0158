#include "tool/figures.hpp"

#include <algorithm>

#include "tool/values.hpp"

namespace idem::tool {

std::string text_of(const Json &object, const char *name) {
  const auto member = object.find(name);
  if (member == object.end() || member->is_null()) return "";
  return member->is_string() ? member->get<std::string>() : member->dump();
}

std::string seconds_of(const Json &object, const char *name) {
  const auto member = object.find(name);
  if (member == object.end() || !member->is_number()) return text_of(object, name);
  const double seconds = std::max(member->get<double>(), 0.0);
  return to_words(Duration(static_cast<Duration::rep>(seconds * 1e6)));
}

// "2024-06-01T13:45:00.123456+00:00", without the fraction and with a blank.
std::string time_of(const Json &object, const char *name) {
  std::string time = text_of(object, name);
  if (time.size() < 19) return time;
  time[10] = ' ';
  const std::size_t fraction = time.find('.');
  if (fraction == std::string::npos) return time;
  const std::size_t zone = time.find_first_of("+-Z", fraction);
  return time.substr(0, fraction) + (zone == std::string::npos ? "" : time.substr(zone));
}

}  // namespace idem::tool
