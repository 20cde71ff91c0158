#include "machines/names.hpp"

#include <algorithm>
#include <array>

#include "machines/definition.hpp"

namespace idem::machines {

namespace {

constexpr std::array<std::string_view, 15> kReserved = {
    "accDescr", "accTitle", "class", "classDef", "click", "default",      "direction",      "hide",
    "href",     "note",     "scale", "state",    "style", "stateDiagram", "stateDiagram-v2"};

constexpr std::size_t kQuotedBytes = 120;

// Not <cctype>: the answer must not depend on the server's locale.
bool is_ascii(char byte) {
  return static_cast<unsigned char>(byte) < 0x80;
}

char lower(char byte) {
  return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte;
}

bool is_name_byte(char byte) {
  return !is_ascii(byte) || (lower(byte) >= 'a' && lower(byte) <= 'z') ||
         (byte >= '0' && byte <= '9') || byte == '_' || byte == '.';
}

// Of what encoding the text is, is not known here, but an ASCII byte is a whole character in all.
std::size_t shortened_length(std::string_view text) {
  std::size_t length = kQuotedBytes;
  while (length > 0 && !is_ascii(text[length - 1])) length--;
  return length;
}

}  // namespace

std::size_t name_length(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size()) {
    const bool dash = text[length] == '-' && length > 0 && length + 1 < text.size() &&
                      is_name_byte(text[length + 1]);
    if (!dash && !is_name_byte(text[length])) break;
    length++;
  }
  return length;
}

std::size_t event_length(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() &&
         (is_name_byte(text[length]) || text[length] == '-' || text[length] == ' '))
    length++;
  return length;
}

bool has_hidden_space(std::string_view name) {
  return name.find("\xC2\xA0") != std::string_view::npos;
}

bool is_reserved(std::string_view word) {
  return std::any_of(kReserved.begin(), kReserved.end(),
                     [word](std::string_view reserved) { return same_word(word, reserved); });
}

bool is_state_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && name_length(name) == name.size() &&
         !is_reserved(name) && !has_hidden_space(name);
}

bool is_blank(char byte) {
  return byte == ' ' || byte == '\t';
}

bool is_control(char byte) {
  return (is_ascii(byte) && byte < ' ') || byte == '\x7f';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

bool same_word(std::string_view word, std::string_view other) {
  return std::equal(word.begin(), word.end(), other.begin(), other.end(),
                    [](char a, char b) { return lower(a) == lower(b); });
}

std::string quoted(std::string_view text) {
  const bool whole = text.size() <= kQuotedBytes;
  std::string result = "\"";
  result += whole ? text : text.substr(0, shortened_length(text));
  std::replace_if(result.begin(), result.end(), is_control, ' ');
  result += whole ? "\"" : "...\"";
  return result;
}

}  // namespace idem::machines
