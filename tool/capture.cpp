#include "tool/capture.hpp"

#include <algorithm>

namespace idem::tool {

namespace {

bool continues(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

}  // namespace

void Capture::add(std::string_view bytes) {
  const std::size_t room = limit_ - std::min(limit_, bytes_.size());
  bytes_ += bytes.substr(0, room);
  truncated_ |= bytes.size() > room;
}

void Capture::clear() {
  bytes_.clear();
  truncated_ = false;
}

Capture Capture::cut(std::size_t limit) const {
  Capture shorter(limit);
  shorter.truncated_ = truncated_ || bytes_.size() > limit;
  std::size_t length = std::min(limit, bytes_.size());
  // The character at the end may lack its rest, whoever cut it off; three bytes are the most that
  // can be there of one. Other bytes are kept: they are not UTF-8 in the first place.
  if (shorter.truncated_) {
    std::size_t start = length;
    while (start > 0 && length - start < 3 && continues(bytes_[start - 1])) start--;
    const auto first = start > 0 ? static_cast<unsigned char>(bytes_[start - 1]) : 0U;
    if (first >= 0xC2 && first <= 0xF4) {
      const std::size_t whole = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
      if (length - (start - 1) < whole) length = start - 1;
    }
  }
  shorter.bytes_ = bytes_.substr(0, length);
  return shorter;
}

}  // namespace idem::tool
