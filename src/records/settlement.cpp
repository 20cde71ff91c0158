#include "records/settlement.hpp"

#include "records/queue.hpp"
#include "records/session_claims.hpp"
#include "records/wake.hpp"
#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace idem::records {

namespace {

const RecordState *state_of(const Sighting &sighting) {
  return sighting.presence == Presence::present ? &sighting.record.state : nullptr;
}

const char *shown(const text *value) {
  return text_to_cstring(value);
}

[[noreturn]] void refuse(TokenStep step, const Identity &id) {
  const char *key = shown(id.key);
  const char *scope = shown(id.scope);
  const int stale = server::errcode_of(sqlstate::kStaleToken);
  switch (step) {
    case TokenStep::no_such_claim:
      ereport(ERROR, (errcode(server::errcode_of(sqlstate::kNoSuchClaim)),
                      errmsg("there is no claim on key \"%s\"", key),
                      errdetail("Scope \"%s\" has no such record: it was never claimed, its claim "
                                "was rolled back, or it was purged.",
                                scope),
                      errhint("Call idem_begin first, with the same scope, and commit it or stay "
                              "in its transaction.")));
      break;
    case TokenStep::other_result:
      ereport(ERROR, (errcode(server::errcode_of(sqlstate::kOtherResult)),
                      errmsg("key \"%s\" already has another result", key),
                      errdetail("A stored outcome does not change until it expires."),
                      errhint("Use the stored one; idem_get shows it.")));
      break;
    case TokenStep::given_back:
      ereport(ERROR, (errcode(stale), errmsg("the claim on key \"%s\" was given back", key),
                      errhint("Call idem_begin to claim the key again.")));
      break;
    case TokenStep::settled:
      ereport(ERROR, (errcode(stale), errmsg("the claim on key \"%s\" is over", key),
                      errdetail("Its outcome has been stored."),
                      errhint("There is nothing left to do; idem_get shows the outcome.")));
      break;
    case TokenStep::unknown:
      ereport(ERROR, (errcode(stale), errmsg("this session holds no claim on key \"%s\"", key),
                      errhint("Pass the token that idem_begin returned, as argument token.")));
      break;
    case TokenStep::lease_over:
      ereport(ERROR,
              (errcode(stale), errmsg("the lease on key \"%s\" is over", key),
               errdetail("Another session may take the key at any moment."),
               errhint("Stop the work, or store its result with idem_finish, which succeeds "
                       "if nobody has taken over. Extend earlier or claim a longer lease.")));
      break;
    default:
      ereport(ERROR, (errcode(stale), errmsg("the claim on key \"%s\" is no longer yours", key),
                      errdetail("The token is not that of the current claim: the lease ran out and "
                                "another session took over, or an operator decided."),
                      errhint("Do not use your result; call idem_begin to see the present "
                              "state.")));
  }
  pg_unreachable();
}

// Which of the remembered tokens the record carries; the latest when it carries neither.
std::int64_t current_token(const RecordsTable &table, const Identity &id,
                           const RememberedTokens &remembered) {
  if (remembered.before == 0) return remembered.latest;
  const Sighting sighting = look_surely(table, id);
  const bool rolled_back =
      sighting.presence == Presence::present && sighting.record.state.token == remembered.before;
  return rolled_back ? remembered.before : remembered.latest;
}

// The token to check, or why there is none.
struct Found {
  TokenStep step;  // allow, no_such_claim or unknown
  std::int64_t token;
};

Found find_token(const RecordsTable &table, const Presented &claim) {
  if (!claim.token.isnull) return {TokenStep::allow, DatumGetInt64(claim.token.value)};
  if (const auto remembered = remembered_tokens(claim.id))
    return {TokenStep::allow, current_token(table, claim.id, *remembered)};
  const Sighting sighting = look_surely(table, claim.id);
  if (sighting.presence != Presence::present) return {TokenStep::no_such_claim, 0};
  const RecordState &state = sighting.record.state;
  return {state.written_here ? TokenStep::allow : TokenStep::unknown, state.token};
}

std::int64_t required_token(const RecordsTable &table, const Presented &claim) {
  const Found found = find_token(table, claim);
  if (found.step != TokenStep::allow) refuse(found.step, claim.id);
  return found.token;
}

bool same_value(NullableDatum a, NullableDatum b, PGFunction equal) {
  if (a.isnull || b.isnull) return a.isnull == b.isnull;
  return DatumGetBool(DirectFunctionCall2(equal, a.value, b.value));
}

bool same_outcome(const Record &record, const Outcome &outcome) {
  const auto column = [&record](Column which) {
    return NullableDatum{record.value(which), record.null(which)};
  };
  return record.state.status == outcome.status &&
         same_value(column(Column::code), outcome.code, int4eq) &&
         same_value(column(Column::body), outcome.body, byteaeq) &&
         same_value(column(Column::result), outcome.result, jsonb_eq);
}

// Tries to write. When that found nothing to write, a second look explains why; `allow` means that
// it was written. The callables are called with the claim's row in sight and hold references only.
template <typename Write, typename Judge>
TokenStep write_or_explain(const RecordsTable &table, const Identity &id, Write write,
                           Judge judge) {
  for (int round = 0; round < kWriteRounds; round++) {
    if (write()) return TokenStep::allow;
    const Sighting sighting = look_surely(table, id);
    const TokenStep step = judge(sighting);
    if (step != TokenStep::allow) return step;
  }
  give_up(id);
}

// The same for a write that a lapsed lease refuses, unless this transaction's own writes protect
// the claim.
template <typename Write>
TokenStep write_while_held(const RecordsTable &table, const Identity &id, std::int64_t token,
                           Write write) {
  bool overdue = false;
  return write_or_explain(
      table, id, [&] { return write(overdue); },
      [&](const Sighting &sighting) {
        overdue = sighting.presence == Presence::present && sighting.record.state.written_here;
        return decide_hold(state_of(sighting), token, GetCurrentTimestamp());
      });
}

// The same for one that asks for nothing but the token.
template <typename Write>
TokenStep write_as_owner(const RecordsTable &table, const Presented &claim, Write write) {
  const Found found = find_token(table, claim);
  if (found.step != TokenStep::allow) return found.step;
  return write_or_explain(
      table, claim.id, [&] { return write(found.token); },
      [&](const Sighting &sighting) { return decide_release(state_of(sighting), found.token); });
}

}  // namespace

bool settle_claim(const RecordsTable &table, const Presented &claim, const ScopeSettings &settings,
                  const Outcome &outcome) {
  require_size(settings, outcome.result, outcome.body, "result");
  const std::int64_t token = required_token(table, claim);
  const TokenStep step = write_or_explain(
      table, claim.id, [&] { return settle(table, claim.id, token, outcome); },
      [&](const Sighting &sighting) {
        const RecordState *state = state_of(sighting);
        return decide_settle(state, token,
                             state != nullptr && same_outcome(sighting.record, outcome));
      });
  if (step != TokenStep::allow && step != TokenStep::already) refuse(step, claim.id);
  wake_at_commit(line_of(claim.id));
  return step == TokenStep::allow;
}

bool release_claim(const RecordsTable &table, const Presented &claim) {
  const TokenStep step = try_release(table, claim);
  if (step == TokenStep::no_such_claim || step == TokenStep::given_back) return false;
  if (step != TokenStep::allow) refuse(step, claim.id);
  return true;
}

TimestampTz extend_claim(const RecordsTable &table, const Presented &claim, const Interval &lease) {
  TimestampTz lease_expires_at = 0;
  const TokenStep step = try_extend(table, claim, lease, &lease_expires_at);
  if (step != TokenStep::allow) refuse(step, claim.id);
  return lease_expires_at;
}

void checkpoint_claim(const RecordsTable &table, const Presented &claim,
                      const ScopeSettings &settings, Datum name, NullableDatum data) {
  require_size(settings, data, {0, true}, "checkpoint data");
  const std::int64_t token = required_token(table, claim);
  const TokenStep step = write_while_held(table, claim.id, token, [&](bool overdue) {
    return checkpoint(table, claim.id, token, name, data, overdue);
  });
  if (step != TokenStep::allow) refuse(step, claim.id);
}

bool prolong_result(const RecordsTable &table, const Identity &id, TimestampTz until) {
  for (int round = 0; round < kWriteRounds; round++) {
    const Sighting sighting = look_surely(table, id);
    const RecordState &state = sighting.record.state;
    if (sighting.presence != Presence::present || state.status == Status::in_progress) return false;
    if (state.expires_at >= until) return true;
    if (redate(table, id, state.token, {0, true}, until)) return true;
  }
  give_up(id);
}

bool forget_result(const RecordsTable &table, const Identity &id) {
  for (int round = 0; round < kWriteRounds; round++) {
    const Sighting sighting = look_surely(table, id);
    const RecordState &state = sighting.record.state;
    if (sighting.presence != Presence::present || state.status == Status::in_progress) return false;
    const bool counted = !expired(state, GetCurrentTimestamp());
    if (forget(table, id, state)) return counted;
  }
  give_up(id);
}

TokenStep try_release(const RecordsTable &table, const Presented &claim) {
  const TokenStep step = write_as_owner(
      table, claim, [&](std::int64_t token) { return release(table, claim.id, token); });
  if (step == TokenStep::allow) wake_at_commit(line_of(claim.id));
  return step;
}

TokenStep try_extend(const RecordsTable &table, const Presented &claim, const Interval &lease,
                     TimestampTz *lease_expires_at) {
  const Found found = find_token(table, claim);
  if (found.step != TokenStep::allow) return found.step;
  return write_while_held(table, claim.id, found.token, [&](bool overdue) {
    const TimestampTz until =
        server::deadline(GetCurrentTimestamp(), &lease, "lease", server::Infinite::refused, false);
    return extend(table, claim.id, found.token, until, overdue, lease_expires_at);
  });
}

TokenStep try_retire(const RecordsTable &table, const Presented &claim, TimestampTz until) {
  const TokenStep step = write_as_owner(
      table, claim, [&](std::int64_t token) { return retire(table, claim.id, token, until); });
  // Whoever waits learns the new end.
  if (step == TokenStep::allow) wake_at_commit(line_of(claim.id));
  return step;
}

TokenStep try_share(const RecordsTable &table, const Presented &claim) {
  return write_as_owner(table, claim,
                        [&](std::int64_t token) { return share_claim(table, claim.id, token); });
}

TokenStep try_find(const RecordsTable &table, const Presented &claim, Record *record) {
  const Found found = find_token(table, claim);
  if (found.step != TokenStep::allow) return found.step;
  const Sighting sighting = look_surely(table, claim.id);
  if (sighting.presence == Presence::present) *record = sighting.record;
  return decide_release(state_of(sighting), found.token);
}

}  // namespace idem::records
