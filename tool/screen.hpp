// A terminal that shows one page after another in the same place.

#pragma once

#include <termios.h>

#include <string>

#include "tool/clock.hpp"
#include "tool/signals.hpp"

namespace idem::tool {

class Screen {
 public:
  // Takes the terminal over if stdout is one; else, or when they are to be `plain`, pages are just
  // printed one after the other.
  explicit Screen(bool plain);
  Screen(const Screen &) = delete;
  Screen &operator=(const Screen &) = delete;
  ~Screen();

  void show(const std::string &page);
  // Waits until the next page is due, or a key or a new size wants one at once. False when it is
  // time to end, because of a key.
  bool wait(Duration duration);
  // The signal that ended it, or 0.
  int signal() const { return signal_; }

 private:
  void enter();
  void leave();
  bool read_key();
  bool read_signal();

  bool is_terminal_;
  bool has_keys_;
  int signal_ = 0;
  termios before_ = {};
  SignalPipe signals_;
};

}  // namespace idem::tool
