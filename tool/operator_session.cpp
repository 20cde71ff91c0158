#include "tool/operator_session.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tool/exit_codes.hpp"

namespace idem::tool {

OperatorSession::OperatorSession(const CommonOptions &options)
    : report_(options.verbose, false),
      session_(options.conninfo, report_),
      extension_(open_extension(session_, kConnectTimeout)) {
  report_.event("connected", "connected to " + session_.place() + ", where pg_idem " +
                                 extension_.version + " is in schema " + extension_.schema);
}

Answer OperatorSession::query(const std::string &sql, const Row &parameters) {
  try {
    return session_.query(extension_.statement(sql), parameters, Clock::now() + kAnswerTimeout);
  } catch (const ConnectionLost &lost) {
    throw Unavailable(lost.what());
  } catch (const ServerError &error) {
    raise_failure(error);
  }
}

std::vector<Json> OperatorSession::objects(const std::string &sql, const Row &parameters) {
  std::vector<Json> objects;
  for (const Row &row : query(sql, parameters).rows)
    objects.push_back(Json::parse(row[0].value_or("null")));
  return objects;
}

void print(const std::string &text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0)
    throw Failure(kSystem, std::string("cannot write to stdout: ") + std::strerror(errno));
}

}  // namespace idem::tool
