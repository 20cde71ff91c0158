// Operators' functions: decide abandoned work, remove records.

#include "records/decision.hpp"
#include "records/queue.hpp"
#include "records/request.hpp"
#include "records/scopes.hpp"
#include "records/store.hpp"
#include "records/wake.hpp"
#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace {

using idem::records::Identity;
using idem::records::OperatorStep;
using idem::records::Outcome;
using idem::records::Presence;
using idem::records::RecordsTable;
using idem::records::RecordState;
using idem::records::Sighting;
using idem::records::Status;
using idem::server::errcode_of;

[[noreturn]] void refuse(OperatorStep step, const Identity &id, const RecordState &state,
                         const char *when_working) {
  const char *key = text_to_cstring(id.key);
  switch (step) {
    case OperatorStep::no_such_record:
      ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kNoSuchClaim)),
                      errmsg("there is no record of key \"%s\"", key),
                      errdetail("The scope is \"%s\".", text_to_cstring(id.scope)),
                      errhint("Check the key and the scope.")));
      break;
    case OperatorStep::still_working:
      ereport(ERROR,
              (errcode(errcode_of(idem::sqlstate::kInProgress)),
               errmsg("key \"%s\" is still being worked on", key),
               errdetail("Its lease ends at %s.", timestamptz_to_str(state.lease_expires_at)),
               errhint("%s", when_working)));
      break;
    default:
      ereport(ERROR,
              (errcode(errcode_of(idem::sqlstate::kOtherResult)),
               errmsg("key \"%s\" is already %s", key, idem::records::status_name(state.status)),
               errhint("Only abandoned work needs a decision; idem_forget removes a stored "
                       "result.")));
  }
  pg_unreachable();
}

[[noreturn]] void refuse_action(const char *message, const char *word) {
  ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kBadArgument)), errmsg(message, word),
                  errhint("Pass 'retry', 'finish' or 'fail'.")));
  pg_unreachable();
}

// Maps an operator's word to the status that the record gets.
Status resolution(FunctionCallInfo fcinfo, int number) {
  if (PG_ARGISNULL(number)) refuse_action("action must not be %s", "null");
  if (toast_raw_datum_size(PG_GETARG_DATUM(number)) > NAMEDATALEN)
    refuse_action("unknown action, longer than %s", "any of the known ones");
  const char *word = text_to_cstring(PG_GETARG_TEXT_PP(number));
  if (strcmp(word, "retry") == 0) return Status::in_progress;
  if (strcmp(word, "finish") == 0) return Status::finished;
  if (strcmp(word, "fail") == 0) return Status::failed;
  refuse_action("unknown action \"%s\"", word);
}

const char *resolved_as(Status status) {
  return status == Status::in_progress ? "retry" : idem::records::status_name(status);
}

void require_no_outcome(const Outcome &outcome) {
  if (outcome.status != Status::in_progress || (outcome.code.isnull && outcome.result.isnull))
    return;
  ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kBadArgument)),
                  errmsg("action \"retry\" stores no result or code"),
                  errhint("Use 'finish' or 'fail' to store one.")));
}

}  // namespace

IDEM_FUNCTION(idem_resolve) {
  idem::server::require_writable("idem_resolve()");
  const Identity id = idem::records::read_identity(fcinfo, 0, 2);
  const Outcome outcome = {resolution(fcinfo, 1), fcinfo->args[4], fcinfo->args[3], {0, true}};
  require_no_outcome(outcome);
  const RecordsTable table = idem::records::records_table(fcinfo, RowExclusiveLock);
  const auto settings = idem::records::scope_settings(table, id.scope);
  idem::records::require_size(settings, outcome.result, {0, true}, "result");
  for (int round = 0; round < idem::records::kWriteRounds; round++) {
    const Sighting sighting = idem::records::look_surely(table, id);
    const RecordState *state =
        sighting.presence == Presence::present ? &sighting.record.state : nullptr;
    const OperatorStep step = idem::records::decide_resolve(state, GetCurrentTimestamp());
    if (step != OperatorStep::allow)
      refuse(step, id, sighting.record.state, "Wait until the lease is over.");
    if (idem::records::resolve(table, id, idem::records::next_token(table), outcome,
                               sighting.record.state)) {
      idem::records::wake_at_commit(idem::records::line_of(id));
      return CStringGetTextDatum(resolved_as(outcome.status));
    }
  }
  idem::records::give_up(id);
}

IDEM_FUNCTION(idem_forget) {
  idem::server::require_writable("idem_forget()");
  const Identity id = idem::records::read_identity(fcinfo, 0, 1);
  const bool force = idem::records::read_flag(fcinfo, 2);
  const RecordsTable table = idem::records::records_table(fcinfo, RowExclusiveLock);
  (void)idem::records::scope_settings(table, id.scope);
  for (int round = 0; round < idem::records::kWriteRounds; round++) {
    const Sighting sighting = idem::records::look_surely(table, id);
    const RecordState *state =
        sighting.presence == Presence::present ? &sighting.record.state : nullptr;
    const OperatorStep step = idem::records::decide_forget(state, GetCurrentTimestamp(), force);
    if (step == OperatorStep::no_such_record) return BoolGetDatum(false);
    if (step != OperatorStep::allow)
      refuse(
          step, id, sighting.record.state,
          "Wait until the lease is over, or pass force => true if its owner is known to be gone.");
    if (idem::records::forget(table, id, sighting.record.state)) {
      idem::records::wake_at_commit(idem::records::line_of(id));
      return BoolGetDatum(true);
    }
  }
  idem::records::give_up(id);
}
