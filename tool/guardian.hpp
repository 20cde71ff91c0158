// pgidem's side of its guardian, the process that starts and ends the command.

#pragma once

#include <sys/types.h>

#include <vector>

#include "tool/launch.hpp"
#include "tool/lease.hpp"
#include "tool/messages.hpp"

namespace idem::tool {

// The functions that send may be called from any thread.
class Guardian {
 public:
  // Starts the command. `not_for_guardian` are descriptors that it must not keep open: whoever is
  // at their other end has to notice when pgidem ends. Throws Failure.
  Guardian(const Launch &launch, const Lease &lease, Duration kill_after,
           const std::vector<int> &not_for_guardian);
  Guardian(const Guardian &) = delete;
  Guardian &operator=(const Guardian &) = delete;
  ~Guardian();

  void renew(const Lease &lease);
  void forward(int signal);
  void stop();
  void run_again();

  int descriptor() const { return socket_.number(); }
  // closed: it is gone, which only somebody from outside can have done.
  Received next(Message &message) const { return receive_message(descriptor(), message); }

  // Kills the guardian, with it the command, and everything that either has started.
  void destroy();

 private:
  Duration kill_after_;
  Descriptor socket_;
  pid_t process_ = -1;
};

}  // namespace idem::tool
