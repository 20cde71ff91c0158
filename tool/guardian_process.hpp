// The process between pgidem and the command. It starts the command, tells how it ends, and ends it
// when the lease is lost, when no renewal comes in time, and when pgidem itself is gone, whatever
// took it away. So it needs nothing that can block: no server, no terminal, no stdout.

#pragma once

#include "tool/launch.hpp"
#include "tool/lease.hpp"
#include "tool/messages.hpp"

namespace idem::tool {

class GuardianProcess {
 public:
  GuardianProcess(Launch launch, int socket, const Deadline &deadline, Duration kill_after);

  [[noreturn]] void run();

 private:
  void start();
  void wait();
  TimePoint next_time() const;
  void receive();
  void obey(const Message &message);
  void read_trouble();
  void watch_command();
  void watch_stops();
  void command_ended(int status);
  void tell_to_end();
  void keep_time();
  void kill_rest();
  void forget_command();
  void send(Message::Kind kind, int number);

  Launch launch_;
  int socket_;
  Deadline deadline_;
  Duration kill_after_;
  SignalPipe children_;
  // From the start of the command until it is reaped; its group cannot be another one's meanwhile.
  Launched command_;
  bool running_ = false;
  bool telling_ = false;
  bool orphaned_ = false;
  TimePoint kill_at_ = kNever;
  int status_ = 0;
};

}  // namespace idem::tool
