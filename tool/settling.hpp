// Telling the server how it ended, for as long as that makes sense.

#pragma once

#include <memory>
#include <string>

#include "tool/run.hpp"

namespace idem::tool {

class Settlement {
 public:
  Settlement(const std::string &conninfo, const Completion &completion, SignalPipe &signals,
             Report &report);

  // Sends the statement until the server has answered, with another connection if it must be: for
  // as long as the lease lasts, or a signal asks for the end. Throws ServerError when the server
  // refuses, and ConnectionLost when there was no answer.
  Answer settle(const std::string &sql, const Row &parameters);

  // Once, and not for long: for what ends by itself when the lease does.
  void try_to_settle(const std::string &sql, const Row &parameters);

 private:
  std::shared_ptr<Session> session_;
  TimePoint end_;
  SignalPipe &signals_;
  Report &report_;
};

}  // namespace idem::tool
