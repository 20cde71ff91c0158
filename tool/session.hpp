// A connection to the server, by libpq's own means, whose statements have deadlines.

#pragma once

#include <libpq-fe.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tool/clock.hpp"
#include "tool/report.hpp"

namespace idem::tool {

// The connection is not there, or broke, or did not answer in time. Whether a statement that had
// been sent was executed is unknown.
class ConnectionLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The server answered with an error, and executed nothing.
class ServerError : public std::runtime_error {
 public:
  ServerError(std::string code, const std::string &message, std::string hint)
      : std::runtime_error(message), code_(std::move(code)), hint_(std::move(hint)) {}

  const std::string &code() const { return code_; }
  const std::string &hint() const { return hint_; }

 private:
  std::string code_;
  std::string hint_;
};

// Something else wants attention while a statement waits; see Session::watch.
class Interrupted : public std::exception {};

using Value = std::optional<std::string>;
using Row = std::vector<Value>;

struct Answer {
  std::vector<std::string> columns;
  std::vector<Row> rows;
};

struct ResultDeleter {
  void operator()(PGresult *result) const { PQclear(result); }
};
using Result = std::unique_ptr<PGresult, ResultDeleter>;

class Session {
 public:
  // Does not connect yet.
  Session(std::string conninfo, Report &report);
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;
  ~Session();

  // Connects unless it is connected. Blocks, for each of the server's addresses, no longer than
  // connect_timeout, or than `timeout` if that is not set. Throws ConnectionLost.
  void connect(Duration timeout);
  void close();
  bool connected() const { return connection_ != nullptr; }

  // Sends one statement with its parameters as text and waits for its rows. Throws ConnectionLost,
  // after which the connection is closed, or ServerError.
  Answer query(const std::string &sql, const Row &parameters, TimePoint deadline);

  // A descriptor that ends waits for the server when it becomes readable, by Interrupted. The
  // statement goes on; query_rest waits for it again.
  void watch(int descriptor) { watched_ = descriptor; }
  Answer query_rest(TimePoint deadline);
  // Asks the server to give up the statement under way, and does not wait for that.
  void cancel();

  std::string escape_identifier(const std::string &name) const;
  // "host:port" or the socket, for messages.
  std::string place() const;
  int server_version() const;
  // -1 when there is no connection.
  int descriptor() const;

 private:
  void wait(short events, TimePoint deadline);
  void send(const std::string &sql, const Row &parameters);
  void flush(TimePoint deadline);
  [[noreturn]] void lose(const std::string &reason);

  std::string conninfo_;
  Report &report_;
  PGconn *connection_ = nullptr;
  // Of the statement under way, so that an interruption does not lose it.
  Result pending_;
  int watched_ = -1;
};

}  // namespace idem::tool
