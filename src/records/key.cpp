#include "records/key.hpp"

#include <algorithm>

#include "records/limits.hpp"
#include "server/error.hpp"

namespace idem::records {

namespace {

void append_escaped(std::string &key, std::string_view part) {
  for (const char byte : part) {
    switch (byte) {
      case '%':
        key += "%25";
        break;
      case ':':
        key += "%3A";
        break;
      case '/':
        key += "%2F";
        break;
      default:
        key += byte;
    }
  }
}

void check_length(const std::string &key) {
  if (key.size() <= kMaxKeyBytes) return;
  throw Error(sqlstate::kBadArgument, "key is too long",
              "The parts make a key of " + std::to_string(key.size()) + " bytes; the limit is " +
                  std::to_string(kMaxKeyBytes) + ".",
              "Use shorter parts, or a digest of the long one.");
}

}  // namespace

std::string make_key(const std::vector<std::string_view> &parts) {
  if (parts.empty()) {
    throw Error(sqlstate::kBadArgument, "a key needs at least one part", {},
                "Pass parts such as 'service', 'business id', 'operation'.");
  }
  std::string key;
  for (std::size_t i = 0; i < parts.size(); i++) {
    if (parts[i].empty()) {
      throw Error(sqlstate::kBadArgument, "part " + std::to_string(i + 1) + " of the key is empty",
                  "A missing part would give different requests the same key.",
                  "Pass a value, or leave the part out for every request.");
    }
    if (i > 0) key += ':';
    append_escaped(key, parts[i]);
  }
  check_length(key);
  return key;
}

std::size_t size_in_key(std::string_view part) {
  const auto escaped = std::count_if(part.begin(), part.end(), [](char byte) {
    return byte == '%' || byte == ':' || byte == '/';
  });
  return part.size() + 2 * static_cast<std::size_t>(escaped);
}

std::string make_child_key(std::string_view parent, std::string_view step) {
  if (parent.empty() || step.empty()) {
    throw Error(sqlstate::kBadArgument,
                parent.empty() ? "parent key must not be empty" : "step must not be empty", {},
                "Pass the key of the request and a name for the step, such as 'charge'.");
  }
  std::string key(parent);
  key += '/';
  append_escaped(key, step);
  check_length(key);
  return key;
}

}  // namespace idem::records
