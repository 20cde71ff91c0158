// The beginning of what a command wrote, for later callers.

#pragma once

#include <string>
#include <string_view>

namespace idem::tool {

class Capture {
 public:
  explicit Capture(std::size_t limit) : limit_(limit) {}

  void add(std::string_view bytes);
  void clear();

  const std::string &bytes() const { return bytes_; }
  // Whether more was written than is kept.
  bool truncated() const { return truncated_; }

  // The same, with at most `limit` bytes. Never ends within a character of UTF-8.
  Capture cut(std::size_t limit) const;

 private:
  std::size_t limit_;
  std::string bytes_;
  bool truncated_ = false;
};

}  // namespace idem::tool
