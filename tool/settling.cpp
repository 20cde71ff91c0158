#include "tool/settling.hpp"

#include <poll.h>

#include <algorithm>

#include "tool/asking.hpp"
#include "tool/poll_timeout.hpp"

namespace idem::tool {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A restart of the server may take longer than what is left of a short lease; as long as nobody
// else has taken over, the server accepts what comes late.
constexpr Duration kLeastPatience = seconds(10);

// The server restarts, or has become a standby, or has no room for a connection.
bool is_temporary(const ServerError &error) {
  const std::string &code = error.code();
  return is_passing(error) || code == "25006" || code.substr(0, 2) == "53" ||
         code.substr(0, 3) == "57P";
}

// A large result takes its time on a slow line.
Duration answer_time(const Row &parameters) {
  std::size_t bytes = 0;
  for (const Value &value : parameters) bytes += value ? value->size() : 0;
  return seconds(10) + seconds(bytes >> 20);
}

bool wants_to_end(SignalPipe &signals, TimePoint wake) {
  pollfd descriptor = {signals.descriptor(), POLLIN, 0};
  poll(&descriptor, 1, poll_timeout(wake));
  while (const int signal = signals.next())
    if (ends(signal)) return true;
  return false;
}

}  // namespace

Settlement::Settlement(const std::string &conninfo, const Completion &completion,
                       SignalPipe &signals, Report &report)
    : session_(completion.session),
      end_(std::max(completion.lease.end(), Clock::now() + kLeastPatience)),
      signals_(signals),
      report_(report) {
  if (!session_) session_ = std::make_shared<Session>(conninfo, report);
}

Answer Settlement::settle(const std::string &sql, const Row &parameters) {
  for (;;) {
    std::string reason;
    try {
      session_->watch(-1);
      session_->connect(std::chrono::seconds(5));
      return session_->query(sql, parameters, Clock::now() + answer_time(parameters));
    } catch (const ConnectionLost &lost) {
      reason = lost.what();
    } catch (const ServerError &error) {
      if (!is_temporary(error)) throw;
      reason = error.what();
      session_->close();
    }
    const bool over = wants_to_end(signals_, Clock::now() + milliseconds(500));
    if (over || Clock::now() >= end_) throw ConnectionLost(reason);
    report_.warning("not_settled", "cannot tell the server yet: " + reason);
  }
}

void Settlement::try_to_settle(const std::string &sql, const Row &parameters) {
  try {
    session_->watch(-1);
    session_->connect(seconds(2));
    session_->query(sql, parameters, Clock::now() + seconds(2));
  } catch (const std::exception &error) {
    report_.event("not_settled", std::string("could not tell the server: ") + error.what());
  }
}

}  // namespace idem::tool
