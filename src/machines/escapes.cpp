#include "machines/escapes.hpp"

#include <array>
#include <cstddef>
#include <utility>

namespace idem::machines {

namespace {

constexpr std::array<std::pair<std::string_view, char>, 5> kNamed = {
    {{"amp", '&'}, {"apos", '\''}, {"gt", '>'}, {"lt", '<'}, {"quot", '"'}}};
constexpr std::size_t kLongest = 6;  // "#quot;"

// The character for what stands between '#' and ';'; NUL: none.
char character_of(std::string_view code) {
  for (const auto &[name, character] : kNamed)
    if (code == name) return character;
  int number = 0;
  for (const char digit : code) {
    if (digit < '0' || digit > '9') return '\0';
    number = number * 10 + (digit - '0');
  }
  return number >= ' ' && number <= '~' ? static_cast<char>(number) : '\0';
}

struct Escape {
  char character;  // NUL: no escape
  std::size_t length;
};

Escape escape_at(std::string_view text) {
  if (text.empty() || text.front() != '#') return {'\0', 0};
  const std::size_t end = text.substr(0, kLongest).find(';');
  if (end == std::string_view::npos) return {'\0', 0};
  return {character_of(text.substr(1, end - 1)), end + 1};
}

}  // namespace

std::string unescape(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const Escape escape = escape_at(text);
    const bool plain = escape.character == '\0';
    result += plain ? text.front() : escape.character;
    text.remove_prefix(plain ? 1 : escape.length);
  }
  return result;
}

// Mermaid takes "%%{" for the beginning of a directive even between quotes.
std::string escape(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); i++) {
    if (text[i] == '"')
      result += "#quot;";
    else if (escape_at(text.substr(i)).character != '\0')
      result += "#35;";
    else if (text.substr(i, 3) == "%%{")
      result += "#37;";
    else
      result += text[i];
  }
  return result;
}

}  // namespace idem::machines
