// What pgidem says of itself: always on stderr, as sentences or, with --json, as one object a line.

#pragma once

#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

namespace idem::tool {

using Json = nlohmann::ordered_json;

// Safe to use from several threads.
class Report {
 public:
  Report(bool verbose, bool json) : verbose_(verbose), json_(json) {}

  // Something that happened as it should: said with --verbose or --json only. The fields are for
  // machines, the sentence is for people.
  void event(const char *name, const std::string &sentence, const Json &fields = Json::object());

  // Something that somebody ought to know of: always said.
  void warning(const char *name, const std::string &sentence, const Json &fields = Json::object());

  // The sentence only, for machines too: what the server says by the way.
  void notice(const std::string &text);

  bool verbose() const { return verbose_; }

 private:
  void write(const std::string &line);

  bool verbose_;
  bool json_;
  std::mutex mutex_;
};

// A JSON object in one line; what is not UTF-8 is replaced.
std::string to_line(const Json &object);

}  // namespace idem::tool
