#include "tool/signals.hpp"

#include <unistd.h>

#include <cerrno>

#include "tool/exit_codes.hpp"

namespace idem::tool {

namespace {

volatile int signal_pipe = -1;

void note_signal(int signal) {
  const int saved = errno;
  const auto byte = static_cast<unsigned char>(signal);
  if (write(signal_pipe, &byte, 1) < 0) {
    // A full pipe has signals enough to wake whoever reads it.
  }
  errno = saved;
}

}  // namespace

bool ends(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

SignalPipe::SignalPipe(const std::vector<int> &signals) : pipe_(make_pipe()), signals_(signals) {
  sigprocmask(SIG_SETMASK, nullptr, &original_.mask);
  for (int signal = 1; signal < NSIG; signal++)
    sigaction(signal, nullptr, &original_.actions[signal]);
  signal_pipe = pipe_.second.number();
  struct sigaction action = {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;
  sigfillset(&action.sa_mask);
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : signals_) {
    if (original_.actions[signal].sa_handler == SIG_IGN) continue;
    sigaction(signal, &action, nullptr);
    sigaddset(&wanted, signal);
  }
  sigprocmask(SIG_UNBLOCK, &wanted, nullptr);
}

SignalPipe::~SignalPipe() {
  restore(original_);
  signal_pipe = -1;
}

int SignalPipe::next() {
  unsigned char byte = 0;
  return read(pipe_.first.number(), &byte, 1) == 1 ? byte : 0;
}

void SignalPipe::restore(const SignalState &state) {
  for (int signal = 1; signal < NSIG; signal++)
    if (signal != SIGKILL && signal != SIGSTOP) sigaction(signal, &state.actions[signal], nullptr);
  sigprocmask(SIG_SETMASK, &state.mask, nullptr);
}

DefaultSignals::DefaultSignals(const std::vector<int> &signals) : signals_(signals) {
  for (const int signal : signals_) {
    struct sigaction before = {};
    sigaction(signal, nullptr, &before);
    actions_.push_back(before);
    if (before.sa_handler == SIG_IGN) continue;
    struct sigaction standard = {};
    standard.sa_handler = SIG_DFL;
    sigaction(signal, &standard, nullptr);
  }
}

DefaultSignals::~DefaultSignals() {
  for (std::size_t i = 0; i < signals_.size(); i++) sigaction(signals_[i], &actions_[i], nullptr);
}

NoSignals::NoSignals() {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before_);
}

void NoSignals::restore() const {
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

void die_of(int signal) {
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  sigprocmask(SIG_UNBLOCK, &only, nullptr);
  raise(signal);
  _exit(kSignalBase + signal);
}

}  // namespace idem::tool
