#include "tool/supervisor.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "tool/exit_codes.hpp"
#include "tool/poll_timeout.hpp"
#include "tool/values.hpp"

namespace idem::tool {

namespace {

int shell_status(int status) {
  return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

// As a shell has it: what is not there, and what is there and cannot be run.
Ending cannot_start(int error) {
  return {error == ENOENT ? kNoSuchCommand : kCannotExecute, true, false};
}

}  // namespace

Supervisor::Supervisor(SignalPipe &signals, Guardian &guardian, Keeper *keeper, Terminal &terminal,
                       const std::vector<Stream *> &streams, std::string command, Report &report)
    : signals_(signals),
      guardian_(guardian),
      keeper_(keeper),
      terminal_(terminal),
      streams_(streams),
      command_(std::move(command)),
      report_(report),
      stop_with_command_(terminal.descriptor() >= 0) {}

// By then the guardian must have killed the command. It is before the end of the lease.
TimePoint Supervisor::last_moment() const {
  if (!keeper_) return kNever;
  const Lease lease = keeper_->lease();
  const TimePoint kill = deadline_of(lease, Duration(0)).kill;
  return kill == kNever ? kNever : kill + (lease.end() - kill) / 2;
}

Ending Supervisor::wait_for_command() {
  ending_.reset();
  while (!ending_) {
    poll_once(last_moment());
    if (!ending_ && Clock::now() >= last_moment()) {
      report_.warning("guardian_lost", "the process that guards the command does not do its work");
      guardian_.destroy();
      finish({kSignalBase + SIGKILL, false, true});
    }
  }
  drain();
  return *ending_;
}

// What the command wrote before it ended is still to be passed on; for as long as it takes, or for
// a moment when somebody wants an end.
void Supervisor::drain() {
  TimePoint end = kNever;
  while (!drained() && Clock::now() < end) {
    const bool hurry = ending_->lost || ending_signal_ != 0;
    if (hurry && end == kNever) end = Clock::now() + std::chrono::seconds(1);
    poll_once(end);
  }
}

bool Supervisor::pause(Duration duration, Ending &ending) {
  const TimePoint end = Clock::now() + duration;
  while (Clock::now() < end) {
    poll_once(std::min(end, last_moment()));
    if (ending_signal_ != 0) {
      ending = {kSignalBase + ending_signal_, false, false};
      return false;
    }
    if (keeper_ && (keeper_->lost() || Clock::now() >= last_moment())) {
      ending.lost = true;
      return false;
    }
  }
  return true;
}

void Supervisor::poll_once(TimePoint deadline) {
  std::vector<pollfd> descriptors = {{signals_.descriptor(), POLLIN, 0},
                                     {guardian_.descriptor(), POLLIN, 0}};
  if (ending_) descriptors[1].fd = -1;
  for (const Stream *stream : streams_) descriptors.push_back(stream->interest());
  poll(descriptors.data(), descriptors.size(), poll_timeout(deadline));
  for (std::size_t i = 0; i < streams_.size(); i++)
    if (descriptors[2 + i].revents != 0) streams_[i]->proceed();
  read_signals();
  if (descriptors[1].revents != 0) read_guardian();
}

void Supervisor::read_signals() {
  while (const int signal = signals_.next()) {
    report_.event("signal", std::string("got ") + strsignal(signal) + ", and passed it on",
                  {{"signal", signal}});
    if (ends(signal)) ending_signal_ = signal;
    if (signal == SIGTSTP) stop_with_command_ = true;
    if (signal == SIGCONT && group_ != 0) terminal_.lend(group_);
    guardian_.forward(signal);
    // Last: the command may be running although we have not been told yet.
    if (signal == SIGTSTP && group_ == 0) stop_ourselves();
  }
}

void Supervisor::read_guardian() {
  Message message = {};
  while (!ending_) {
    const Received received = guardian_.next(message);
    if (received == Received::nothing) return;
    if (received == Received::message) {
      handle(message);
      continue;
    }
    report_.warning("guardian_lost", "the process that guards the command was killed");
    guardian_.destroy();
    finish({kSignalBase + SIGKILL, false, false});
  }
}

void Supervisor::handle(const Message &message) {
  if (message.kind == Message::started) {
    group_ = message.number;
    report_.event("running", "the command runs as process " + std::to_string(group_),
                  {{"pid", group_}});
  } else if (message.kind == Message::not_started) {
    report_.warning("not_started",
                    "cannot run \"" + command_ + "\": " + std::strerror(message.number));
    finish(cannot_start(message.number));
  } else if (message.kind == Message::stopped) {
    const bool for_terminal = message.number == SIGTTIN || message.number == SIGTTOU;
    if (stop_with_command_ || for_terminal) stop_ourselves();
  } else if (message.kind == Message::ended) {
    finish({shell_status(message.number), false, false});
  } else if (message.kind == Message::told_to_end) {
    finish({shell_status(message.number), false, true});
  }
}

// The shell that started us shall see the job stopped, as it would without us. The lease is not
// renewed meanwhile: the guardian, which goes on, ends the command if that takes too long.
void Supervisor::stop_ourselves() {
  terminal_.take_back(group_);
  stop_with_command_ = terminal_.descriptor() >= 0;
  raise(SIGSTOP);
}

void Supervisor::finish(const Ending &ending) {
  terminal_.take_back(group_);
  group_ = 0;
  ending_ = ending;
}

bool Supervisor::drained() {
  return std::all_of(streams_.begin(), streams_.end(),
                     [](Stream *stream) { return stream->drained(); });
}

}  // namespace idem::tool
