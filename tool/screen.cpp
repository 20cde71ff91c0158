#include "tool/screen.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <sstream>

#include "tool/operator_session.hpp"
#include "tool/poll_timeout.hpp"
#include "tool/text_table.hpp"

namespace idem::tool {

namespace {

constexpr char kEnter[] = "\x1b[?1049h\x1b[?25l";
constexpr char kLeave[] = "\x1b[?25h\x1b[?1049l";
constexpr char kHome[] = "\x1b[H";
constexpr char kClearLine[] = "\x1b[K";
constexpr char kClearRest[] = "\x1b[J";

winsize terminal_size() {
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) return {24, 80, 0, 0};
  return size;
}

// As much of the page as the terminal has room for.
std::string fitted(const std::string &page) {
  const winsize size = terminal_size();
  std::istringstream lines(page);
  std::string line;
  std::string text = kHome;
  for (int row = 0; row < size.ws_row && std::getline(lines, line); row++)
    text += (row == 0 ? "" : "\r\n") + fit(line, size.ws_col) + kClearLine;
  return text + kClearRest;
}

}  // namespace

Screen::Screen(bool plain)
    : is_terminal_(!plain && isatty(STDOUT_FILENO) == 1),
      has_keys_(is_terminal_ && isatty(STDIN_FILENO) == 1),
      signals_({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH}) {
  enter();
}

Screen::~Screen() {
  leave();
}

void Screen::enter() {
  if (has_keys_ && tcgetattr(STDIN_FILENO, &before_) == 0) {
    termios keys = before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &keys);
  }
  if (is_terminal_) print(kEnter);
}

void Screen::leave() {
  if (has_keys_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  if (!is_terminal_) return;
  if (write(STDOUT_FILENO, kLeave, sizeof kLeave - 1) < 0) return;
}

void Screen::show(const std::string &page) {
  print(is_terminal_ ? fitted(page) : page);
}

bool Screen::wait(Duration duration) {
  const TimePoint end = Clock::now() + duration;
  while (Clock::now() < end) {
    pollfd descriptors[2] = {{signals_.descriptor(), POLLIN, 0},
                             {has_keys_ ? STDIN_FILENO : -1, POLLIN, 0}};
    poll(descriptors, 2, poll_timeout(end));
    if (descriptors[1].revents != 0) return read_key();
    if (descriptors[0].revents != 0) return read_signal();
  }
  return true;
}

// Any key but q looks again at once.
bool Screen::read_key() {
  char key = 'q';
  return read(STDIN_FILENO, &key, 1) == 1 && key != 'q' && key != 'Q';
}

bool Screen::read_signal() {
  while (const int signal = signals_.next()) {
    if (ends(signal)) {
      signal_ = signal;
      return false;
    }
    if (signal != SIGTSTP) continue;
    leave();
    raise(SIGSTOP);
    enter();
  }
  return true;
}

}  // namespace idem::tool
