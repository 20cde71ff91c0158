#include "tool/file_name.hpp"

#include <cstdint>
#include <cstdio>

namespace idem::tool {

namespace {

constexpr std::size_t kLongest = 200;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

std::string hexadecimal(std::uint64_t number, int digits) {
  char text[20];
  std::snprintf(text, sizeof text, "%0*llX", digits, static_cast<unsigned long long>(number));
  return text;
}

// FNV-1a: two names that meet here exclude each other without need, which harms nobody much.
std::uint64_t digest(const std::string &name) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

}  // namespace

std::string file_name_of(const std::string &name) {
  std::string file;
  for (const char c : name)
    file += is_plain(c) ? std::string(1, c) : "%" + hexadecimal(static_cast<unsigned char>(c), 2);
  if (file.size() > kLongest) file = file.substr(0, kLongest) + "~" + hexadecimal(digest(name), 16);
  return file + ".lock";
}

}  // namespace idem::tool
