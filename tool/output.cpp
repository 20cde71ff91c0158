#include "tool/output.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace idem::tool {

namespace {

// POSIX promises that a pipe with room takes that much at once.
constexpr std::size_t kPiece = PIPE_BUF;
constexpr std::size_t kBuffer = 65536;

}  // namespace

// The writing end blocks: it becomes the command's.
Stream::Stream(int target, std::size_t limit)
    : target_(target), pipe_(make_pipe()), capture_(limit) {
  set_nonblocking(pipe_.second.number(), false);
}

pollfd Stream::interest() const {
  if (!pending_.empty()) return {target_, POLLOUT, 0};
  return {reading_end(), POLLIN, 0};
}

void Stream::proceed() {
  if (!pending_.empty())
    write();
  else if (pipe_.first)
    read();
}

void Stream::read() {
  char buffer[kBuffer];
  const ssize_t length = ::read(reading_end(), buffer, sizeof buffer);
  if (length <= 0) return;
  pending_.assign(buffer, static_cast<std::size_t>(length));
  capture_.add(pending_);
}

void Stream::write() {
  const std::size_t piece = std::min(pending_.size(), kPiece);
  const ssize_t length = ::write(target_, pending_.data(), piece);
  if (length > 0) {
    pending_.erase(0, static_cast<std::size_t>(length));
  } else if (errno != EAGAIN && errno != EINTR) {
    // Nobody reads it any more, which the command learns as it would without us.
    pending_.clear();
    pipe_.first.close();
  }
}

bool Stream::drained() {
  if (pending_.empty() && pipe_.first) read();
  return pending_.empty();
}

void Stream::start_again() {
  capture_.clear();
}

}  // namespace idem::tool
