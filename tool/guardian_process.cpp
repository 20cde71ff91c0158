#include "tool/guardian_process.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "tool/descendants.hpp"
#include "tool/failure.hpp"
#include "tool/poll_timeout.hpp"

namespace idem::tool {

namespace {

constexpr Duration kLook = std::chrono::milliseconds(20);

// Whatever comes to pgidem it passes on; what comes here by itself must not end the guard.
void ignore_signals() {
  for (const int signal : kForwarded) std::signal(signal, SIG_IGN);
  for (const int signal : {SIGPIPE, SIGTTIN, SIGTTOU, SIGALRM}) std::signal(signal, SIG_IGN);
}

// Something that happened to a process, as waitpid's status.
int to_status(const siginfo_t &info) {
  if (info.si_code == CLD_EXITED) return info.si_status << 8;
  return info.si_status | (info.si_code == CLD_DUMPED ? 0x80 : 0);
}

}  // namespace

GuardianProcess::GuardianProcess(Launch launch, int socket, const Deadline &deadline,
                                 Duration kill_after)
    : launch_(std::move(launch)),
      socket_(socket),
      deadline_(deadline),
      kill_after_(kill_after),
      children_({SIGCHLD}) {
  ignore_signals();
  adopt_orphans();
}

void GuardianProcess::run() {
  start();
  while (!orphaned_ || running_ || telling_) {
    wait();
    // News of a renewal counts before the time that it came to change.
    receive();
    read_trouble();
    watch_command();
    keep_time();
  }
  _exit(0);
}

void GuardianProcess::start() {
  try {
    command_ = launch(launch_);
    running_ = true;
  } catch (const Failure &) {
    send(Message::not_started, errno);
  }
}

TimePoint GuardianProcess::next_time() const {
  if (telling_) return std::min(kill_at_, Clock::now() + kLook);
  return running_ ? deadline_.terminate : kNever;
}

void GuardianProcess::wait() {
  // A negative descriptor is passed over.
  pollfd descriptors[3] = {{orphaned_ ? -1 : socket_, POLLIN, 0},
                           {children_.descriptor(), POLLIN, 0},
                           {command_.trouble.number(), POLLIN, 0}};
  poll(descriptors, 3, poll_timeout(next_time()));
  while (children_.next() != 0) continue;
}

void GuardianProcess::receive() {
  Message message = {};
  while (!orphaned_) {
    const Received received = receive_message(socket_, message);
    if (received == Received::nothing) return;
    if (received == Received::message) {
      obey(message);
    } else {
      orphaned_ = true;
      tell_to_end();
    }
  }
}

void GuardianProcess::obey(const Message &message) {
  if (message.kind == Message::renewed) {
    deadline_ = message.deadline;
  } else if (message.kind == Message::forward) {
    if (running_) kill(-command_.process, message.number);
  } else if (message.kind == Message::stop) {
    tell_to_end();
  } else if (message.kind == Message::run_again) {
    forget_command();
    start();
  }
}

void GuardianProcess::read_trouble() {
  if (!command_.trouble) return;
  int error = 0;
  const ssize_t length = read(command_.trouble.number(), &error, sizeof error);
  if (length < 0) return;
  command_.trouble.close();
  if (length == 0) {
    send(Message::started, command_.process);
    return;
  }
  running_ = false;
  send(Message::not_started, error);
}

// The command is only looked at, and reaped when its process group is of no more use. What it left
// behind and was adopted is reaped on the way.
void GuardianProcess::watch_command() {
  for (;;) {
    siginfo_t info = {};
    if (!running_ || waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) break;
    if (info.si_pid == 0) break;
    if (info.si_pid == command_.process) {
      command_ended(to_status(info));
      return;
    }
    waitpid(info.si_pid, nullptr, 0);
  }
  if (running_) watch_stops();
}

void GuardianProcess::watch_stops() {
  siginfo_t info = {};
  const auto process = static_cast<id_t>(command_.process);
  while (waitid(P_PID, process, &info, WSTOPPED | WCONTINUED | WNOHANG) == 0 && info.si_pid != 0) {
    if (info.si_code == CLD_STOPPED) send(Message::stopped, info.si_status);
    info = {};
  }
}

void GuardianProcess::command_ended(int status) {
  running_ = false;
  status_ = status;
  // Others of its group and its descendants have been told too, and may take their time.
  if (!telling_) send(Message::ended, status);
}

void GuardianProcess::tell_to_end() {
  if (!running_ || telling_) return;
  telling_ = true;
  kill_at_ = std::min(Clock::now() + kill_after_, deadline_.kill);
  kill(-command_.process, SIGTERM);
  // A stopped process would not notice.
  kill(-command_.process, SIGCONT);
}

void GuardianProcess::keep_time() {
  if (running_ && !telling_ && Clock::now() >= deadline_.terminate) tell_to_end();
  if (!telling_) return;
  if (Clock::now() >= kill_at_) {
    kill_rest();
    watch_command();
  } else if (running_ || !descendants_of(getpid()).empty()) {
    return;
  }
  telling_ = false;
  send(Message::told_to_end, status_);
}

// Returns when all are dead, or cannot be killed.
void GuardianProcess::kill_rest() {
  kill(-command_.process, SIGKILL);
  const TimePoint patience = Clock::now() + std::chrono::seconds(5);
  while (kill_descendants(getpid(), 0) && Clock::now() < patience) poll(nullptr, 0, 1);
}

// Nothing of an attempt may run beside the next one.
void GuardianProcess::forget_command() {
  if (command_.process <= 0) return;
  kill_rest();
  waitpid(command_.process, nullptr, 0);
  command_ = {};
}

void GuardianProcess::send(Message::Kind kind, int number) {
  send_message(socket_, {kind, number, {}});
}

}  // namespace idem::tool
