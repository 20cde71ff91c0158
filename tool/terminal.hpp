// The terminal that pgidem was started from, if any.

#pragma once

#include "tool/descriptor.hpp"

namespace idem::tool {

class Terminal {
 public:
  Terminal();

  // For the command, when it is to have the foreground; else -1.
  int descriptor() const { return foreground_ ? tty_.number() : -1; }
  // Puts pgidem's own process group into the foreground again, if the command's group is there; the
  // shell may have come between.
  void take_back(int group) const;
  // Puts the command's group there, if pgidem's has it.
  void lend(int group) const;

 private:
  Descriptor tty_;
  bool foreground_ = false;
};

}  // namespace idem::tool
