// File descriptors that close themselves and that the command does not inherit.

#pragma once

#include <utility>

namespace idem::tool {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor &&other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }

  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  void close();

 private:
  int number_ = -1;
};

struct Pair {
  Descriptor first;
  Descriptor second;
};

// The reading end first. Neither end blocks. Throws Failure.
Pair make_pipe();
// Connected sockets, for messages of a fixed size. Throws Failure.
Pair make_sockets();

void set_nonblocking(int descriptor, bool nonblocking);

// What errno says, behind what failed.
[[noreturn]] void fail(const char *what);

}  // namespace idem::tool
