#include "tool/session.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "tool/poll_timeout.hpp"

namespace idem::tool {

namespace {

// libpq's messages have several lines, some of them indented.
std::string one_line(const char *message) {
  std::string text;
  for (const char *c = message; *c; c++)
    if (*c != '\n' && *c != '\t')
      text += *c;
    else if (!text.empty() && text.back() != ' ')
      text += ' ';
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

// Whether the environment or the service file sets an option of libpq.
bool is_set_elsewhere(const PQconninfoOption *defaults, const char *keyword) {
  for (const PQconninfoOption *option = defaults; option && option->keyword; option++)
    if (std::strcmp(option->keyword, keyword) == 0) return option->val && *option->val;
  return false;
}

// What libpq is told; the conninfo comes after our defaults and so prevails.
class ConnectionParameters {
 public:
  ConnectionParameters(const std::string &conninfo, Duration timeout) : conninfo_(conninfo) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout).count();
    timeout_ = std::to_string(std::max<Duration::rep>(seconds, 1));
    PQconninfoOption *defaults = PQconndefaults();
    add_default(defaults, "connect_timeout", timeout_.c_str());
    // A server that is gone without a word is noticed after about ten seconds.
    add_default(defaults, "keepalives_idle", "4");
    add_default(defaults, "keepalives_interval", "2");
    add_default(defaults, "keepalives_count", "3");
    add_default(defaults, "tcp_user_timeout", "10000");
    PQconninfoFree(defaults);
    add("fallback_application_name", "pgidem");
    add("client_encoding", "UTF8");
    if (!conninfo_.empty()) add("dbname", conninfo_.c_str());
  }

  PGconn *connect() {
    keywords_.push_back(nullptr);
    values_.push_back(nullptr);
    return PQconnectdbParams(keywords_.data(), values_.data(), 1);
  }

 private:
  void add(const char *keyword, const char *value) {
    keywords_.push_back(keyword);
    values_.push_back(value);
  }

  void add_default(const PQconninfoOption *defaults, const char *keyword, const char *value) {
    if (!is_set_elsewhere(defaults, keyword)) add(keyword, value);
  }

  const std::string &conninfo_;
  std::string timeout_;
  std::vector<const char *> keywords_;
  std::vector<const char *> values_;
};

void report_notice(void *report, const char *message) {
  static_cast<Report *>(report)->notice(one_line(message));
}

Answer to_answer(const PGresult *result) {
  Answer answer;
  for (int column = 0; column < PQnfields(result); column++)
    answer.columns.emplace_back(PQfname(result, column));
  for (int row = 0; row < PQntuples(result); row++) {
    Row values;
    for (int column = 0; column < PQnfields(result); column++)
      if (PQgetisnull(result, row, column))
        values.emplace_back();
      else
        values.emplace_back(
            std::string(PQgetvalue(result, row, column),
                        static_cast<std::size_t>(PQgetlength(result, row, column))));
    answer.rows.push_back(std::move(values));
  }
  return answer;
}

std::string field(const PGresult *result, int code) {
  const char *text = PQresultErrorField(result, code);
  return text ? text : "";
}

std::string described(const PGresult *result) {
  std::string message = field(result, PG_DIAG_MESSAGE_PRIMARY);
  if (message.empty()) message = one_line(PQresultErrorMessage(result));
  const std::string detail = field(result, PG_DIAG_MESSAGE_DETAIL);
  return detail.empty() ? message : message + ": " + detail;
}

}  // namespace

Session::Session(std::string conninfo, Report &report)
    : conninfo_(std::move(conninfo)), report_(report) {}

Session::~Session() {
  close();
}

void Session::connect(Duration timeout) {
  if (connection_ && PQstatus(connection_) == CONNECTION_OK) return;
  close();
  connection_ = ConnectionParameters(conninfo_, timeout).connect();
  if (!connection_) throw std::bad_alloc();
  if (PQstatus(connection_) != CONNECTION_OK) lose(one_line(PQerrorMessage(connection_)));
  PQsetnonblocking(connection_, 1);
  PQsetNoticeProcessor(connection_, report_notice, &report_);
}

void Session::close() {
  pending_.reset();
  PQfinish(connection_);
  connection_ = nullptr;
}

void Session::lose(const std::string &reason) {
  close();
  throw ConnectionLost(reason.empty() ? "the connection broke" : reason);
}

void Session::wait(short events, TimePoint deadline) {
  pollfd descriptors[2] = {{PQsocket(connection_), events, 0}, {watched_, POLLIN, 0}};
  for (;;) {
    const int ready = ::poll(descriptors, watched_ < 0 ? 1 : 2, poll_timeout(deadline));
    if (ready > 0 && descriptors[0].revents != 0) return;
    if (ready > 0) throw Interrupted();
    if (Clock::now() >= deadline) lose("the server does not answer");
  }
}

void Session::flush(TimePoint deadline) {
  for (;;) {
    const int state = PQflush(connection_);
    if (state == 0) return;
    if (state < 0) lose(one_line(PQerrorMessage(connection_)));
    wait(POLLIN | POLLOUT, deadline);
    if (PQconsumeInput(connection_) == 0) lose(one_line(PQerrorMessage(connection_)));
  }
}

void Session::send(const std::string &sql, const Row &parameters) {
  std::vector<const char *> values;
  for (const Value &value : parameters) values.push_back(value ? value->c_str() : nullptr);
  if (PQsendQueryParams(connection_, sql.c_str(), static_cast<int>(values.size()), nullptr,
                        values.data(), nullptr, nullptr, 0) == 0)
    lose(one_line(PQerrorMessage(connection_)));
}

Answer Session::query(const std::string &sql, const Row &parameters, TimePoint deadline) {
  if (!connection_) throw ConnectionLost("there is no connection");
  send(sql, parameters);
  flush(deadline);
  return query_rest(deadline);
}

Answer Session::query_rest(TimePoint deadline) {
  for (;;) {
    while (PQisBusy(connection_)) {
      wait(POLLIN, deadline);
      if (PQconsumeInput(connection_) == 0) lose(one_line(PQerrorMessage(connection_)));
    }
    Result next(PQgetResult(connection_));
    if (!next) break;
    // A connection that breaks ends in a second result, which says less than the first.
    if (!pending_ || PQresultStatus(pending_.get()) != PGRES_FATAL_ERROR)
      pending_ = std::move(next);
  }
  const Result last = std::move(pending_);
  if (!last) lose(one_line(PQerrorMessage(connection_)));
  const ExecStatusType status = PQresultStatus(last.get());
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return to_answer(last.get());
  const std::string code = field(last.get(), PG_DIAG_SQLSTATE);
  if (code.empty() || PQstatus(connection_) != CONNECTION_OK) lose(described(last.get()));
  throw ServerError(code, described(last.get()), field(last.get(), PG_DIAG_MESSAGE_HINT));
}

// PQcancel connects, which nothing limits: a process of its own does it, with an alarm set.
void Session::cancel() {
  PGcancel *request = PQgetCancel(connection_);
  if (!request) return;
  const pid_t helper = fork();
  if (helper == 0) {
    char error[256];
    alarm(3);
    PQcancel(request, error, sizeof error);
    _exit(0);
  }
  if (helper > 0) waitpid(helper, nullptr, 0);
  PQfreeCancel(request);
}

std::string Session::escape_identifier(const std::string &name) const {
  const std::unique_ptr<char, decltype(&PQfreemem)> escaped(
      PQescapeIdentifier(connection_, name.c_str(), name.size()), PQfreemem);
  if (!escaped) throw ConnectionLost(one_line(PQerrorMessage(connection_)));
  return escaped.get();
}

std::string Session::place() const {
  if (!connection_) return "the server";
  const std::string host = PQhost(connection_);
  return host + (host.empty() ? "" : ":") + PQport(connection_);
}

int Session::server_version() const {
  return connection_ ? PQserverVersion(connection_) : 0;
}

int Session::descriptor() const {
  return connection_ ? PQsocket(connection_) : -1;
}

}  // namespace idem::tool
