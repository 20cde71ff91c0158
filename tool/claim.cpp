#include "tool/claim.hpp"

#include <algorithm>

#include "tool/sql_values.hpp"
#include "tool/surroundings.hpp"

namespace idem::tool {

namespace {

// The longest single wait; then the server is asked again.
constexpr Duration kSlice = std::chrono::hours(1);

// A statement under construction: a value becomes the next parameter.
struct Parameters {
  Row row;

  std::string operator()(Value value) {
    row.push_back(std::move(value));
    return "$" + std::to_string(row.size());
  }
};

std::string key_expression(const OnceOptions &options, long number, Parameters &parameter) {
  const bool parts = options.key.empty();
  const std::string base =
      parts ? "@.idem_key(" + parameter(options.task) + ", " + parameter(options.run_id)
            : parameter(options.key) + "::pg_catalog.text";
  if (number == 1) return parts ? base + ")" : base;
  const std::string rerun = parameter(std::to_string(number));
  return parts ? base + ", " + rerun + ")" : "@.idem_child_key(" + base + ", " + rerun + ")";
}

std::string begin_statement(const OnceOptions &options, const std::string &owner, long number,
                            Duration wait, Parameters &parameter) {
  std::string sql =
      "SELECT k.key, c.outcome, c.token, c.attempt, c.code, c.result, c.failed, c.owner, "
      "c.checkpoint, pg_catalog.date_part('epoch', c.retry_after), "
      "pg_catalog.date_part('epoch', c.lease_expires_at OPERATOR(pg_catalog.-) "
      "pg_catalog.clock_timestamp()) FROM (SELECT " +
      key_expression(options, number, parameter) +
      " AS key) k, LATERAL @.idem_begin(key => k.key, committed => true";
  sql += ", scope => " + parameter(options.scope);
  sql += ", lease => " + parameter(to_value(options.lease));
  sql += ", retain => " + parameter(to_value(options.retain));
  sql += ", wait => " + parameter(to_interval(wait));
  sql += ", owner => " + parameter(owner);
  if (options.fingerprint)
    sql += ", fingerprint => @.idem_fingerprint(pg_catalog.to_jsonb(" +
           parameter(options.fingerprint) + "::pg_catalog.text))";
  return sql + ") c";
}

Claim to_claim(const Row &row, TimePoint asked) {
  Claim claim;
  claim.key = row[0].value_or("");
  claim.outcome = row[1].value_or("");
  claim.token = row[2].value_or("");
  claim.attempt = row[3].value_or("");
  claim.code = row[4];
  claim.result = row[5];
  claim.failed = row[6] == "t";
  claim.owner = row[7].value_or("");
  claim.checkpoint = row[8];
  claim.retry_after = to_duration(row[9]);
  claim.lease = {asked, to_duration(row[10])};
  return claim;
}

constexpr char kRelease[] = "SELECT @.idem_release(key => $1, scope => $2, token => $3)";
constexpr char kExtend[] =
    "SELECT pg_catalog.date_part('epoch', @.idem_extend(key => $1, scope => $2, token => $3, "
    "lease => $4) OPERATOR(pg_catalog.-) pg_catalog.clock_timestamp())";
constexpr char kOurs[] =
    "SELECT r.token, r.attempt FROM @.idem_get($1, $2) r WHERE r.status OPERATOR(pg_catalog.=) "
    "'in_progress' AND r.owner OPERATOR(pg_catalog.=) $3";

}  // namespace

Claimant::Claimant(const OnceOptions &options, const Extension &extension, Session &session,
                   Asker &asker)
    : options_(options),
      extension_(extension),
      session_(session),
      asker_(asker),
      owner_(make_owner()) {}

Claim Claimant::begin(long number) {
  const TimePoint end = end_of_wait(options_.wait);
  for (;;) {
    const Duration left = std::max<Duration>(end - Clock::now(), Duration(0));
    Claim claim = ask(number, std::min(left, kSlice));
    if (claim.outcome != "in_progress" || adopt(claim) || left <= kSlice) return claim;
  }
}

// What is left of the wait is reckoned anew for each attempt, and so is the lease.
Claim Claimant::ask(long number, Duration wait) {
  TimePoint asked;
  Parameters parameters;
  Question question;
  question.sql = extension_.statement(begin_statement(options_, owner_, number, wait, parameters));
  question.wait = wait;
  question.parameters = [&](Duration left) {
    asked = Clock::now();
    Parameters again;
    begin_statement(options_, owner_, number, left, again);
    return again.row;
  };
  question.undo = [this](const Answer &answer) { give_back(answer); };
  Claim claim = to_claim(asker_.ask(question).rows.at(0), asked);
  if (claim.outcome == "started") claim.lease = asker_.reckon(claim.lease, renewal(claim));
  return claim;
}

// The server had granted the claim when the connection broke, and nobody else can know.
bool Claimant::adopt(Claim &claim) {
  if (claim.owner != owner_) return false;
  const Question question = {extension_.statement(kOurs),
                             [&](Duration) {
                               return Row{claim.key, options_.scope, owner_};
                             },
                             Duration(0), [](const Answer &) {}};
  const Answer answer = asker_.ask(question);
  if (answer.rows.empty()) return false;
  claim.token = answer.rows[0][0].value_or("");
  claim.attempt = answer.rows[0][1].value_or("");
  claim.outcome = "started";
  claim.lease = asker_.reckon({}, renewal(claim));
  return true;
}

void Claimant::give_back(const Answer &answer) {
  const Claim claim = to_claim(answer.rows.at(0), Clock::now());
  if (claim.outcome == "started")
    session_.query(release(), release_parameters(claim), Clock::now() + kAnswerTimeout);
}

Renewal Claimant::renewal(const Claim &claim) const {
  return {extension_.statement(kExtend),
          {claim.key, options_.scope, claim.token, to_value(options_.lease)}};
}

std::string Claimant::release() const {
  return extension_.statement(kRelease);
}

Row Claimant::release_parameters(const Claim &claim) const {
  return {claim.key, options_.scope, claim.token};
}

std::string Claimant::finish(bool failure) const {
  const std::string function = failure ? "idem_fail" : "idem_finish";
  return extension_.statement("SELECT @." + function +
                              "(key => $1, scope => $2, token => $3, result => $4, code => $5)");
}

Row Claimant::finish_parameters(const Claim &claim, const std::string &result, int status) const {
  return {claim.key, options_.scope, claim.token, result, std::to_string(status)};
}

}  // namespace idem::tool
