// A durable lock on the server: idem_lock and what belongs to it.

#pragma once

#include <string>

#include "tool/asking.hpp"
#include "tool/keeper.hpp"
#include "tool/options.hpp"

namespace idem::tool {

struct Grant {
  bool acquired = false;
  std::string token;
  std::string holder;
  bool after_loss = false;
  // How long the holder's lock still holds.
  Duration retry_after{0};
  Lease lease;
};

class DurableLock {
 public:
  // The options' name is expanded.
  DurableLock(const LockOptions &options, const Extension &extension, Session &session,
              Asker &asker);

  // Waits as the options say. Throws Stopped, Unavailable or Failure.
  Grant take();

  Renewal renewal(const Grant &grant) const;
  std::string unlock() const;
  Row unlock_parameters(const Grant &grant) const;

 private:
  void adopt(Grant &grant);
  void give_back(const Answer &answer);

  const LockOptions &options_;
  const Extension &extension_;
  Session &session_;
  Asker &asker_;
  // Tells a lock of ours whose grant got lost from one of somebody else.
  std::string owner_;
};

}  // namespace idem::tool
