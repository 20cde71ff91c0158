#include "tool/durable_lock.hpp"

#include "tool/sql_values.hpp"
#include "tool/surroundings.hpp"

namespace idem::tool {

namespace {

constexpr char kLock[] =
    "SELECT g.acquired, g.token, g.holder, g.after_loss, "
    "pg_catalog.date_part('epoch', g.retry_after), "
    "pg_catalog.date_part('epoch', g.expires_at OPERATOR(pg_catalog.-) "
    "pg_catalog.clock_timestamp()) FROM @.idem_lock(name => $1, ttl => $2, wait => $3, "
    "owner => $4, data => $5, delay => $6) g";
constexpr char kExtend[] =
    "SELECT pg_catalog.date_part('epoch', @.idem_lock_extend(name => $1, token => $2, ttl => $3) "
    "OPERATOR(pg_catalog.-) pg_catalog.clock_timestamp())";
constexpr char kUnlock[] = "SELECT @.idem_unlock(name => $1, token => $2, at_least => $3)";
constexpr char kOurs[] =
    "SELECT r.token FROM @.idem_get($1, 'idem.lock') r WHERE r.status OPERATOR(pg_catalog.=) "
    "'in_progress' AND r.owner OPERATOR(pg_catalog.=) $2";

Grant to_grant(const Row &row, TimePoint asked) {
  Grant grant;
  grant.acquired = row[0] == "t";
  grant.token = row[1].value_or("");
  grant.holder = row[2].value_or("");
  grant.after_loss = row[3] == "t";
  grant.retry_after = to_duration(row[4]);
  grant.lease = {asked, to_duration(row[5])};
  return grant;
}

}  // namespace

DurableLock::DurableLock(const LockOptions &options, const Extension &extension, Session &session,
                         Asker &asker)
    : options_(options),
      extension_(extension),
      session_(session),
      asker_(asker),
      owner_(make_owner()) {}

// In one wait, however long: whoever waits keeps his place in the line.
Grant DurableLock::take() {
  TimePoint asked;
  Question question;
  question.sql = extension_.statement(kLock);
  question.wait = options_.wait;
  question.parameters = [&](Duration left) {
    asked = Clock::now();
    const Value wait = left == kForever ? Value() : to_interval(left);
    return Row{options_.name, to_value(options_.lease), wait, owner_,
               options_.data, to_value(options_.delay)};
  };
  question.undo = [this](const Answer &answer) { give_back(answer); };
  Grant grant = to_grant(asker_.ask(question).rows.at(0), asked);
  if (grant.acquired)
    grant.lease = asker_.reckon(grant.lease, renewal(grant));
  else if (grant.holder == owner_)
    adopt(grant);
  return grant;
}

// The server had granted the lock when the connection broke, and nobody else can know.
void DurableLock::adopt(Grant &grant) {
  const Question question = {extension_.statement(kOurs),
                             [&](Duration) {
                               return Row{options_.name, owner_};
                             },
                             Duration(0), [](const Answer &) {}};
  const Answer answer = asker_.ask(question);
  if (answer.rows.empty()) return;
  grant.token = answer.rows[0][0].value_or("");
  grant.acquired = true;
  grant.lease = asker_.reckon({}, renewal(grant));
}

void DurableLock::give_back(const Answer &answer) {
  const Grant grant = to_grant(answer.rows.at(0), Clock::now());
  if (grant.acquired)
    session_.query(extension_.statement(kUnlock), {options_.name, grant.token, std::nullopt},
                   Clock::now() + kAnswerTimeout);
}

Renewal DurableLock::renewal(const Grant &grant) const {
  return {extension_.statement(kExtend), {options_.name, grant.token, to_value(options_.lease)}};
}

std::string DurableLock::unlock() const {
  return extension_.statement(kUnlock);
}

Row DurableLock::unlock_parameters(const Grant &grant) const {
  return {options_.name, grant.token, to_value(options_.at_least)};
}

}  // namespace idem::tool
