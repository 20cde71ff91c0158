#include "tool/terminal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>

namespace idem::tool {

namespace {

// Without this, a process in the background is stopped for it.
void set_foreground(int terminal, pid_t group) {
  sigset_t stop;
  sigset_t before;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTTOU);
  sigprocmask(SIG_BLOCK, &stop, &before);
  tcsetpgrp(terminal, group);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

Terminal::Terminal() : tty_(open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)) {
  foreground_ = tty_ && tcgetpgrp(tty_.number()) == getpgrp();
}

void Terminal::take_back(int group) const {
  if (tty_ && tcgetpgrp(tty_.number()) == group) set_foreground(tty_.number(), getpgrp());
}

void Terminal::lend(int group) const {
  if (tty_ && tcgetpgrp(tty_.number()) == getpgrp()) set_foreground(tty_.number(), group);
}

}  // namespace idem::tool
