#include "records/claim.hpp"
#include "records/request.hpp"
#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace {

using idem::records::BeginRequest;
using idem::records::Claim;
using idem::records::RecordsTable;
using idem::records::ScopeSettings;

void require_own_transaction() {
  if (!IsTransactionBlock() && !IsSubTransaction()) {
    // Refuses the middle of a pipeline too, and makes the server commit before the next command of
    // one.
    PreventInTransactionBlock(true, "idem_begin(committed => true)");
    return;
  }
  ereport(ERROR,
          (errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
           errmsg("idem_begin(committed => true) cannot run inside a transaction block"),
           errdetail("The claim would not be visible to others before the external call, and "
                     "a rollback would erase it after the call."),
           errhint("Call it outside BEGIN, make the external call, then store its result "
                   "with idem_finish.")));
}

}  // namespace

IDEM_FUNCTION(idem_begin) {
  idem::server::require_writable("idem_begin()");
  BeginRequest request = {};
  request.id = idem::records::read_identity(fcinfo, 0, 1);
  if (idem::records::read_flag(fcinfo, 7)) require_own_transaction();
  const RecordsTable table = idem::records::records_table(fcinfo, AccessShareLock);
  const ScopeSettings settings = idem::records::open_scope_settings(table, request.id.scope);
  request.fingerprint = idem::records::read_fingerprint(fcinfo, 2, settings);
  request.lease = idem::records::read_interval(fcinfo, 3);
  request.retain = idem::records::read_interval(fcinfo, 4);
  request.wait = idem::records::read_interval(fcinfo, 5);
  request.owner = idem::records::read_owner(fcinfo, 6);
  const Claim claim = idem::records::begin(table, request, settings);
  if (idem::records::read_flag(fcinfo, 8))
    idem::records::require_claim_or_result(claim, request.id);
  return idem::records::claim_datum(table, claim);
}
