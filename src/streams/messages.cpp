#include "streams/messages.hpp"

#include <string>

#include "records/claim.hpp"
#include "records/key.hpp"
#include "records/settlement.hpp"
#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace idem::streams {

namespace {

using records::Claim;
using records::ClaimOutcome;
using records::Identity;
using records::RecordsTable;
using records::ScopeSettings;

// Only for what it holds a string: the guard brings an error of the server back as an exception.
const text *key_of(const Message &message) {
  const std::string key =
      records::make_key({server::view_of(message.stream), server::view_of(message.id)});
  return server::inward(
      [&key] { return cstring_to_text_with_len(key.data(), static_cast<int>(key.size())); });
}

Identity identity_of(const Message &message) {
  return {cstring_to_text("idem.message"), key_of(message)};
}

[[noreturn]] void refuse_reuse(const Message &message, const Identity &id) {
  ereport(ERROR,
          (errcode(server::errcode_of(sqlstate::kReusedEvent)),
           errmsg("message id \"%s\" was used before in stream \"%s\", with another hash",
                  text_to_cstring(message.id), text_to_cstring(message.stream)),
           errdetail("The record is \"%s\" in scope \"idem.message\".", text_to_cstring(id.key)),
           errhint("Use an id for one message only, and send the same content when it is "
                   "repeated.")));
  pg_unreachable();
}

[[noreturn]] void refuse_claimed(const Message &message, const Identity &id) {
  ereport(ERROR,
          (errcode(server::errcode_of(sqlstate::kInProgress)),
           errmsg("the record of message id \"%s\" is claimed by somebody else",
                  text_to_cstring(message.id)),
           errdetail("The record is \"%s\" in scope \"idem.message\".", text_to_cstring(id.key)),
           errhint("Leave the scope \"idem.message\" to idem_accept_id.")));
  pg_unreachable();
}

// A tenth more than asked for, so that an id that is repeated often is not written each time: each
// new end costs an index entry.
TimestampTz with_a_margin(TimestampTz end, TimestampTz now) {
  if (end == DT_NOEND) return end;
  const TimestampTz later = end + (end - now) / 10;
  return IS_VALID_TIMESTAMP(later) ? later : end;
}

void refresh(RecordsTable table, const Identity &id, const ScopeSettings &scope,
             const Interval *retain, TimestampTz expires_at) {
  const TimestampTz now = GetCurrentTimestamp();
  const TimestampTz end = records::retain_deadline(scope, retain, now);
  if (expires_at >= end) return;
  records::lock_records(table, RowExclusiveLock);
  // Whoever forgot it meanwhile did so after this duplicate came.
  (void)records::prolong_result(table, id, with_a_margin(end, now));
}

const Interval *retain_of(const StreamSettings &settings, const MessageTerms &terms) {
  if (terms.retain != nullptr) return terms.retain;
  return settings.has_message_retain ? &settings.message_retain : nullptr;
}

}  // namespace

MessageAcceptance accept_message(const RecordsTable &table, const StreamSettings &settings,
                                 const Message &message, const MessageTerms &terms) {
  const Identity id = identity_of(message);
  const ScopeSettings scope = records::own_scope_settings(table, id.scope);
  records::require_size(scope, terms.result, {0, true}, "result");
  const records::Outcome outcome = {records::Status::finished, {0, true}, terms.result, {0, true}};
  records::BeginRequest request = {};
  request.id = id;
  request.fingerprint = terms.hash;
  request.retain = retain_of(settings, terms);
  request.outcome = &outcome;
  const Claim claim = records::begin(table, request, scope);
  switch (claim.outcome) {
    case ClaimOutcome::finished:
      return {false, claim.created_at, claim.result};
    case ClaimOutcome::replayed:
      if (settings.refresh)
        refresh(table, id, scope, request.retain, DatumGetTimestampTz(claim.expires_at.value));
      return {true, claim.created_at, claim.result};
    case ClaimOutcome::mismatch:
      refuse_reuse(message, id);
    default:
      refuse_claimed(message, id);
  }
}

std::size_t key_size(const Message &message) {
  return records::size_in_key(server::view_of(message.stream)) + 1 +
         records::size_in_key(server::view_of(message.id));
}

bool forget_message(const RecordsTable &table, const Message &message) {
  return records::forget_result(table, identity_of(message));
}

}  // namespace idem::streams
