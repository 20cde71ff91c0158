// The watchdog: renews the lease over a connection of its own, in a thread of its own, so that
// neither the command's output nor anything else in pgidem can hold it up. If it is held up itself,
// by a name that does not resolve or a server that does not answer, the guardian knows the time.

#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "tool/guardian.hpp"
#include "tool/lease.hpp"
#include "tool/renewal.hpp"
#include "tool/report.hpp"
#include "tool/session.hpp"

namespace idem::tool {

class Keeper {
 public:
  // Renews from a third of the lease on. `spare` is the connection that made the claim: it is used
  // when no other can be had, until stop() returns true.
  Keeper(std::string conninfo, Renewal renewal, const Lease &lease,
         std::shared_ptr<Guardian> guardian, std::shared_ptr<Session> spare,
         std::shared_ptr<Report> report);
  Keeper(const Keeper &) = delete;
  Keeper &operator=(const Keeper &) = delete;
  ~Keeper();

  // Ends it. False when it is caught in a call and could not be waited for; it touches nothing that
  // is not its own when it comes back, but for the spare connection.
  bool stop(Duration patience);

  Lease lease() const;
  // Whether the server has said that the claim is no longer ours.
  bool lost() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace idem::tool
