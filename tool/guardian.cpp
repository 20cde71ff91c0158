#include "tool/guardian.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tool/descendants.hpp"
#include "tool/guardian_process.hpp"

namespace idem::tool {

namespace {

[[noreturn]] void guard(const Launch &launch, int socket, const Deadline &deadline,
                        Duration kill_after, const NoSignals &no_signals) {
  try {
    // A group of its own, so that what a terminal or kill sends to that of pgidem ends only pgidem.
    setpgid(0, 0);
    std::signal(SIGCHLD, SIG_DFL);
    GuardianProcess process(launch, socket, deadline, kill_after);
    no_signals.restore();
    process.run();
  } catch (...) {
    _exit(1);
  }
}

}  // namespace

Guardian::Guardian(const Launch &launch, const Lease &lease, Duration kill_after,
                   const std::vector<int> &not_for_guardian)
    : kill_after_(kill_after) {
  // Should the guardian be killed, what it looked after comes to this process.
  adopt_orphans();
  Pair sockets = make_sockets();
  // None must come before the guardian knows what to do with it.
  const NoSignals no_signals;
  process_ = fork();
  if (process_ < 0) fail("cannot start a process");
  if (process_ == 0) {
    sockets.first.close();
    for (const int descriptor : not_for_guardian) ::close(descriptor);
    guard(launch, sockets.second.number(), deadline_of(lease, kill_after), kill_after, no_signals);
  }
  socket_ = std::move(sockets.first);
}

// The guardian ends when the socket does, after the command.
Guardian::~Guardian() = default;

void Guardian::renew(const Lease &lease) {
  send_message(descriptor(), {Message::renewed, 0, deadline_of(lease, kill_after_)});
}

void Guardian::forward(int signal) {
  send_message(descriptor(), {Message::forward, signal, {}});
}

void Guardian::stop() {
  send_message(descriptor(), {Message::stop, 0, {}});
}

void Guardian::run_again() {
  send_message(descriptor(), {Message::run_again, 0, {}});
}

void Guardian::destroy() {
  kill(process_, SIGKILL);
  const TimePoint patience = Clock::now() + std::chrono::seconds(5);
  while (kill_descendants(getpid(), 0) && Clock::now() < patience) poll(nullptr, 0, 1);
}

}  // namespace idem::tool
