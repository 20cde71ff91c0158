// What the command writes, on its way to where pgidem writes, with the beginning of it kept.

#pragma once

#include <poll.h>

#include <optional>
#include <vector>

#include "tool/capture.hpp"
#include "tool/descriptor.hpp"

namespace idem::tool {

// One of the two streams. Never blocks, so that a reader who pauses holds up the command but not
// the lease.
class Stream {
 public:
  Stream(int target, std::size_t limit);

  int writing_end() const { return pipe_.second.number(); }
  int reading_end() const { return pipe_.first.number(); }

  // What to wait for, and what to do when it has come.
  pollfd interest() const;
  void proceed();
  // Whether all that the command has written is on its way.
  bool drained();

  const Capture &capture() const { return capture_; }
  void start_again();

 private:
  void read();
  void write();

  int target_;
  Pair pipe_;
  std::string pending_;
  Capture capture_;
};

}  // namespace idem::tool
