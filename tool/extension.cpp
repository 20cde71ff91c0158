#include "tool/extension.hpp"

#include "tool/exit_codes.hpp"

namespace idem::tool {

namespace {

constexpr char kFind[] =
    "SELECT n.nspname, e.extversion, pg_catalog.getdatabaseencoding() "
    "FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n "
    "ON n.oid OPERATOR(pg_catalog.=) e.extnamespace "
    "WHERE e.extname OPERATOR(pg_catalog.=) 'pg_idem'";

// An older version of the extension lacks a function or a view.
bool is_missing(const std::string &code) {
  return code == "42883" || code == "42P01" || code == "3F000";
}

// A standby; or the role's transactions are read-only; or the server has no room or shuts down.
bool is_refusal_of_service(const std::string &code) {
  return code == "25006" || code.substr(0, 2) == "53" || code.substr(0, 3) == "57P";
}

bool is_about_an_argument(const std::string &code) {
  return code == "ID400" || code.substr(0, 2) == "22";
}

}  // namespace

Unavailable::Unavailable(const std::string &message) : Failure(kUnavailable, message) {}

std::string Extension::statement(const std::string &sql) const {
  std::string text;
  for (const char c : sql)
    if (c == '@')
      text += schema;
    else
      text += c;
  return text;
}

Extension find_extension(Session &session, TimePoint deadline) {
  const Answer answer = session.query(kFind, {}, deadline);
  if (answer.rows.empty())
    throw Unavailable("the database has no pg_idem: CREATE EXTENSION pg_idem installs it");
  const Row &row = answer.rows[0];
  Extension extension;
  extension.schema = session.escape_identifier(row[0].value_or(""));
  extension.version = row[1].value_or("");
  extension.utf8 = row[2] == "UTF8";
  return extension;
}

Extension open_extension(Session &session, Duration timeout) {
  try {
    session.connect(timeout);
    return find_extension(session, Clock::now() + timeout);
  } catch (const ConnectionLost &lost) {
    throw Unavailable(lost.what());
  } catch (const ServerError &error) {
    raise_failure(error);
  }
}

void raise_failure(const ServerError &error) {
  std::string message = error.what();
  if (!error.hint().empty()) message += (message.back() == '.' ? " " : ". ") + error.hint();
  if (is_missing(error.code()))
    throw Unavailable("the database's pg_idem is too old for this: " + message);
  if (is_refusal_of_service(error.code())) throw Unavailable(message);
  if (error.code() == "42501") throw Failure(kNotPermitted, message);
  if (error.code() == "ID410") throw Failure(kLost, message);
  if (error.code() == "ID404") throw Failure(kNotFound, message);
  if (is_about_an_argument(error.code())) throw Failure(kUsage, message);
  throw Failure(kInternal, message + " (SQLSTATE " + error.code() + ")");
}

}  // namespace idem::tool
