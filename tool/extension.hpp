// The extension in the database that a session is connected to.

#pragma once

#include <string>

#include "tool/failure.hpp"
#include "tool/session.hpp"

namespace idem::tool {

// The server, the extension or write access is not there: what --if-unavailable is about.
class Unavailable : public Failure {
 public:
  explicit Unavailable(const std::string &message);
};

struct Extension {
  std::string schema;  // quoted as an identifier
  std::string version;
  bool utf8 = false;

  // The statement with the schema in the place of each '@'. Statements qualify everything and leave
  // the session's settings alone: behind a pool, the next client would inherit a search_path.
  std::string statement(const std::string &sql) const;
};

// Throws Unavailable, or ConnectionLost.
Extension find_extension(Session &session, TimePoint deadline);

// Connects and finds the extension within `timeout` each. Throws Unavailable.
Extension open_extension(Session &session, Duration timeout);

// What a server's error means for the exit status. Throws Unavailable or Failure.
[[noreturn]] void raise_failure(const ServerError &error);

inline constexpr Duration kConnectTimeout = std::chrono::seconds(10);
// For statements that wait for nobody.
inline constexpr Duration kAnswerTimeout = std::chrono::seconds(30);

}  // namespace idem::tool
