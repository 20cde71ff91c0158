// A session for the commands that ask or tell the server something and end.

#pragma once

#include <string>
#include <vector>

#include "tool/extension.hpp"
#include "tool/options.hpp"
#include "tool/report.hpp"
#include "tool/session.hpp"

namespace idem::tool {

class OperatorSession {
 public:
  // Connects. Throws Failure.
  explicit OperatorSession(const CommonOptions &options);

  // The rows of a statement, in which '@' stands for the schema. Throws Failure.
  Answer query(const std::string &sql, const Row &parameters = {});
  // The same for a statement whose rows are one JSON object each.
  std::vector<Json> objects(const std::string &sql, const Row &parameters = {});

  Report &report() { return report_; }
  std::string place() const { return session_.place(); }

 private:
  Report report_;
  Session session_;
  Extension extension_;
};

// Writes to stdout; throws Failure when that fails.
void print(const std::string &text);

}  // namespace idem::tool
