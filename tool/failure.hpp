// What ends pgidem before its time: a sentence for stderr, and the exit status.

#pragma once

#include <stdexcept>
#include <string>

namespace idem::tool {

class Failure : public std::runtime_error {
 public:
  Failure(int status, const std::string &message) : std::runtime_error(message), status_(status) {}

  int status() const noexcept { return status_; }

 private:
  int status_;
};

}  // namespace idem::tool
