// Signals as something to poll for.

#pragma once

#include <csignal>
#include <vector>

#include "tool/descriptor.hpp"

namespace idem::tool {

// What the process was started with, for the command to be started with as well.
struct SignalState {
  sigset_t mask;
  struct sigaction actions[NSIG];
};

// Signals that are passed on to the command.
inline constexpr int kForwarded[] = {SIGTERM, SIGINT,  SIGHUP,  SIGQUIT,
                                     SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

// Whether the command is expected to end of it.
bool ends(int signal);

// While it lives, the signals of a list wait in a pipe instead of doing what they do. Those that
// were ignored at the start stay ignored, as behind nohup. There is one at a time.
class SignalPipe {
 public:
  explicit SignalPipe(const std::vector<int> &signals);
  SignalPipe(const SignalPipe &) = delete;
  SignalPipe &operator=(const SignalPipe &) = delete;
  // Puts everything back as it was.
  ~SignalPipe();

  int descriptor() const { return pipe_.first.number(); }
  // The oldest signal that waits, or 0.
  int next();
  const SignalState &original() const { return original_; }

  // In a forked process, for the command: as it was at the start.
  static void restore(const SignalState &state);

 private:
  Pair pipe_;
  std::vector<int> signals_;
  SignalState original_;
};

// Lets the signals of a pipe do what they would do without it, for calls that cannot be interrupted
// and that nothing is lost by ending.
class DefaultSignals {
 public:
  explicit DefaultSignals(const std::vector<int> &signals);
  DefaultSignals(const DefaultSignals &) = delete;
  DefaultSignals &operator=(const DefaultSignals &) = delete;
  ~DefaultSignals();

 private:
  std::vector<int> signals_;
  std::vector<struct sigaction> actions_;
};

// While it lives, signals wait.
class NoSignals {
 public:
  NoSignals();
  NoSignals(const NoSignals &) = delete;
  NoSignals &operator=(const NoSignals &) = delete;
  ~NoSignals() { restore(); }

  void restore() const;

 private:
  sigset_t before_ = {};
};

// Ends the process by a signal, as if it had not been caught.
[[noreturn]] void die_of(int signal);

}  // namespace idem::tool
