#include "records/claim.hpp"
#include "records/request.hpp"
#include "records/settlement.hpp"
#include "records/user_statement.hpp"
#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace {

using idem::records::BeginRequest;
using idem::records::Claim;
using idem::records::ClaimOutcome;
using idem::records::Outcome;
using idem::records::RecordsTable;
using idem::records::ScopeSettings;
using idem::records::Status;

void run_and_store(FunctionCallInfo fcinfo, const BeginRequest &request, const text *statement,
                   Jsonb *arguments, Claim *claim) {
  claim->result = {idem::records::run_user_statement(statement, arguments), false};
  // The statement may have changed anything, the table of records included.
  const RecordsTable table = idem::records::records_table(fcinfo, RowExclusiveLock);
  const ScopeSettings settings = idem::records::scope_settings(table, request.id.scope);
  const Outcome outcome = {Status::finished, claim->code, claim->result, claim->body};
  (void)idem::records::settle_claim(table, {request.id, claim->token}, settings, outcome);
  claim->outcome = ClaimOutcome::finished;
  claim->failed = {BoolGetDatum(false), false};
}

const text *required_statement(FunctionCallInfo fcinfo, int number) {
  const text *statement = PG_ARGISNULL(number) ? nullptr : PG_GETARG_TEXT_PP(number);
  if (statement == nullptr || VARSIZE_ANY_EXHDR(statement) == 0)
    ereport(ERROR, (errcode(idem::server::errcode_of(idem::sqlstate::kBadArgument)),
                    errmsg("statement must not be %s", statement == nullptr ? "null" : "empty"),
                    errhint("Pass one SQL statement, with $1, $2 and so on for its arguments.")));
  return statement;
}

Jsonb *required_arguments(FunctionCallInfo fcinfo, int number) {
  if (PG_ARGISNULL(number))
    ereport(ERROR, (errcode(idem::server::errcode_of(idem::sqlstate::kBadArgument)),
                    errmsg("args must not be null"),
                    errhint("Pass '[]' for a statement without parameters.")));
  return PG_GETARG_JSONB_P(number);
}

}  // namespace

IDEM_FUNCTION(idem_execute) {
  idem::server::require_writable("idem_execute()");
  BeginRequest request = {};
  request.id = idem::records::read_identity(fcinfo, 0, 3);
  const text *statement = required_statement(fcinfo, 1);
  Jsonb *arguments = required_arguments(fcinfo, 2);
  const RecordsTable table = idem::records::records_table(fcinfo, AccessShareLock);
  const ScopeSettings settings = idem::records::open_scope_settings(table, request.id.scope);
  request.fingerprint = idem::records::read_fingerprint(fcinfo, 4, settings);
  request.retain = idem::records::read_interval(fcinfo, 5);
  request.wait = idem::records::read_interval(fcinfo, 6);
  request.owner = idem::records::read_owner(fcinfo, 7);
  Claim claim = idem::records::begin(table, request, settings);
  if (claim.outcome == ClaimOutcome::started)
    run_and_store(fcinfo, request, statement, arguments, &claim);
  if (idem::records::read_flag(fcinfo, 8))
    idem::records::require_claim_or_result(claim, request.id);
  return idem::records::claim_datum(table, claim);
}
