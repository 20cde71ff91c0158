// Names that differ from day to day or from machine to machine: "{date}", "{host}".

#pragma once

#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace idem::tool {

// What the words in braces stand for.
struct Surroundings {
  std::tm now = {};
  std::tm yesterday = {};
  std::string host;
  std::string user;
  std::function<std::optional<std::string>(const std::string &)> variable;
};

// The text with each word in braces replaced. Throws std::invalid_argument for a word that stands
// for nothing, a variable that is not set or empty, and a brace without its counterpart.
std::string expand(std::string_view text, const Surroundings &surroundings);

}  // namespace idem::tool
