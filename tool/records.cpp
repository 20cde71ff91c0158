// get, forget and resolve: one record, by its key.

#include "tool/commands.hpp"
#include "tool/exit_codes.hpp"
#include "tool/operator_session.hpp"
#include "tool/text_table.hpp"

namespace idem::tool {

namespace {

constexpr char kGet[] = "SELECT pg_catalog.row_to_json(r) FROM @.idem_get($1, $2) r";
constexpr char kForget[] = "SELECT @.idem_forget($1, $2, $3)";
constexpr char kResolve[] = "SELECT @.idem_resolve($1, $2, $3, $4, $5)";

[[noreturn]] void not_found(const GetOptions &options) {
  throw Failure(kNotFound,
                "no record of key \"" + options.key + "\" in scope \"" + options.scope + "\"");
}

std::string shown(const Json &value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// Names and values; what is null is left out.
std::string to_lines(const Json &record) {
  std::string lines;
  for (const auto &[name, value] : record.items())
    if (!value.is_null()) {
      const std::string label = name + ":";
      lines += label + std::string(18 - std::min<std::size_t>(label.size(), 17), ' ') +
               printable(shown(value)) + "\n";
    }
  return lines;
}

void print_answer(const GetOptions &options, const std::string &answer) {
  if (options.json)
    print(to_line({{"scope", options.scope}, {"key", options.key}, {"result", answer}}));
  else
    print(answer + "\n");
}

}  // namespace

int run_get(const GetOptions &options) {
  OperatorSession session(options);
  const auto records = session.objects(kGet, {options.key, options.scope});
  if (records.empty()) not_found(options);
  print(options.json ? to_line(records[0]) : to_lines(records[0]));
  return 0;
}

int run_forget(const ForgetOptions &options) {
  OperatorSession session(options);
  const Answer answer =
      session.query(kForget, {options.key, options.scope, options.force ? "true" : "false"});
  if (answer.rows[0][0] != "t") not_found(options);
  print_answer(options, "forgotten");
  return 0;
}

int run_resolve(const ResolveOptions &options) {
  OperatorSession session(options);
  const Answer answer = session.query(
      kResolve, {options.key, options.action, options.scope, options.result, options.code});
  print_answer(options, answer.rows[0][0].value_or(""));
  return 0;
}

}  // namespace idem::tool
