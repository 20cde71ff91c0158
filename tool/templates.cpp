#include "tool/templates.hpp"

#include <map>
#include <stdexcept>
#include <vector>

namespace idem::tool {

namespace {

// Each period says which one it is: an hour without its date would name another hour tomorrow.
const std::map<std::string_view, const char *> kPeriods = {
    {"year", "%Y"},       {"month", "%Y-%m"},      {"week", "%G-W%V"},
    {"date", "%Y-%m-%d"}, {"hour", "%Y-%m-%dT%H"}, {"minute", "%Y-%m-%dT%H:%M"}};

[[noreturn]] void refuse(const std::string &what, std::string_view text) {
  throw std::invalid_argument(what + " in \"" + std::string(text) + "\"");
}

// A guard character tells an empty result from one that did not fit.
std::string format(const std::tm &time, const std::string &pattern) {
  const std::string guarded = pattern + ".";
  std::vector<char> buffer(64 + 16 * guarded.size());
  const std::size_t length = std::strftime(buffer.data(), buffer.size(), guarded.c_str(), &time);
  if (length == 0) throw std::invalid_argument("\"" + pattern + "\" makes too long a time");
  return std::string(buffer.data(), length - 1);
}

std::string value_of(const std::string &word, const Surroundings &surroundings) {
  const auto period = kPeriods.find(word);
  if (period != kPeriods.end()) return format(surroundings.now, period->second);
  if (word == "yesterday") return format(surroundings.yesterday, "%Y-%m-%d");
  if (word == "host") return surroundings.host;
  if (word == "user") return surroundings.user;
  if (word.rfind("date:", 0) == 0) return format(surroundings.now, word.substr(5));
  if (word.rfind("env:", 0) == 0) {
    const std::string name = word.substr(4);
    const auto value = surroundings.variable(name);
    if (!value || value->empty())
      throw std::invalid_argument("the environment variable \"" + name + "\" is not set");
    return *value;
  }
  throw std::invalid_argument("{" + word + "} stands for nothing");
}

}  // namespace

std::string expand(std::string_view text, const Surroundings &surroundings) {
  std::string expanded;
  for (std::size_t place = 0; place < text.size(); place++) {
    const char c = text[place];
    if (c != '{' && c != '}') {
      expanded += c;
    } else if (text.substr(place + 1, 1) == std::string_view(&c, 1)) {
      expanded += c;
      place++;
    } else if (c == '}') {
      refuse("a closing brace without an opening one", text);
    } else {
      const std::size_t end = text.find('}', place);
      if (end == std::string_view::npos) refuse("an opening brace without a closing one", text);
      expanded += value_of(std::string(text.substr(place + 1, end - place - 1)), surroundings);
      place = end;
    }
  }
  return expanded;
}

}  // namespace idem::tool
