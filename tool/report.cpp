#include "tool/report.hpp"

#include <unistd.h>

#include <utility>

namespace idem::tool {

namespace {

Json with_name(const char *name, const std::string &sentence, const Json &fields) {
  Json object = {{"event", name}};
  object.update(fields);
  object["message"] = sentence;
  return object;
}

}  // namespace

std::string to_line(const Json &object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void Report::event(const char *name, const std::string &sentence, const Json &fields) {
  if (json_)
    write(to_line(with_name(name, sentence, fields)));
  else if (verbose_)
    write("pgidem: " + sentence + "\n");
}

void Report::warning(const char *name, const std::string &sentence, const Json &fields) {
  if (json_)
    write(to_line(with_name(name, sentence, fields)));
  else
    write("pgidem: " + sentence + "\n");
}

void Report::notice(const std::string &text) {
  if (verbose_) event("notice", text);
}

// In one piece, so that lines of the command do not come between; nothing can be done about a
// stderr that nobody reads.
void Report::write(const std::string &line) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

}  // namespace idem::tool
