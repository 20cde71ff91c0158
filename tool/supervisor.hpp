// Watches over the command until it ends: passes signals on, copies output, follows the shell's job
// control, and sees to it that a guardian that does not do its work is replaced.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tool/guardian.hpp"
#include "tool/keeper.hpp"
#include "tool/output.hpp"
#include "tool/report.hpp"
#include "tool/signals.hpp"
#include "tool/terminal.hpp"

namespace idem::tool {

struct Ending {
  // As a shell would see it.
  int status = 0;
  // The command never ran.
  bool not_started = false;
  // The lease is lost, or was not renewed in time; the command has been stopped.
  bool lost = false;
};

class Supervisor {
 public:
  // `keeper` is null when there is no lease.
  Supervisor(SignalPipe &signals, Guardian &guardian, Keeper *keeper, Terminal &terminal,
             const std::vector<Stream *> &streams, std::string command, Report &report);

  Ending wait_for_command();
  // Waits before the next attempt. False when a signal or the lease ended that; then `ending` says
  // how.
  bool pause(Duration duration, Ending &ending);
  // A signal that is to end the command has been passed on: it is not to be started again.
  int ending_signal() const { return ending_signal_; }

 private:
  TimePoint last_moment() const;
  void poll_once(TimePoint deadline);
  void read_signals();
  void read_guardian();
  void handle(const Message &message);
  void stop_ourselves();
  void finish(const Ending &ending);
  void drain();
  bool drained();

  SignalPipe &signals_;
  Guardian &guardian_;
  Keeper *keeper_;
  Terminal &terminal_;
  std::vector<Stream *> streams_;
  // Its name, for messages.
  std::string command_;
  Report &report_;
  int group_ = 0;
  int ending_signal_ = 0;
  bool stop_with_command_ = false;
  std::optional<Ending> ending_;
};

}  // namespace idem::tool
