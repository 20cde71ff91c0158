// The claim of a run: idem_begin and what belongs to it.

#pragma once

#include <optional>
#include <string>

#include "tool/asking.hpp"
#include "tool/keeper.hpp"
#include "tool/options.hpp"

namespace idem::tool {

struct Claim {
  std::string key;
  std::string outcome;
  std::string token;
  std::string attempt;
  std::optional<std::string> code;
  std::optional<std::string> result;
  bool failed = false;
  std::string owner;
  std::optional<std::string> checkpoint;
  // How long somebody else's claim still holds.
  Duration retry_after{0};
  Lease lease;
};

class Claimant {
 public:
  // The options' names are expanded.
  Claimant(const OnceOptions &options, const Extension &extension, Session &session, Asker &asker);

  // Claims the run; `number` is 1, or that of a rerun. Throws Stopped, Unavailable or Failure.
  Claim begin(long number);

  Renewal renewal(const Claim &claim) const;
  // The statement that gives a claim back, and its parameters.
  std::string release() const;
  Row release_parameters(const Claim &claim) const;
  // Likewise for a result, or a failure.
  std::string finish(bool failure) const;
  Row finish_parameters(const Claim &claim, const std::string &result, int status) const;

 private:
  Claim ask(long number, Duration wait);
  bool adopt(Claim &claim);
  void give_back(const Answer &answer);

  const OnceOptions &options_;
  const Extension &extension_;
  Session &session_;
  Asker &asker_;
  // Tells a claim of ours whose answer got lost from one of somebody else.
  std::string owner_;
};

}  // namespace idem::tool
