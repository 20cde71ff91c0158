// idem_accept_id and idem_accept_forget.

#include "records/limits.hpp"
#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "streams/limits.hpp"
#include "streams/messages.hpp"

namespace {

using idem::records::RecordsTable;
using idem::streams::Message;
using idem::streams::MessageAcceptance;
using idem::streams::MessageTerms;
using idem::streams::StreamSettings;

Message read_message(FunctionCallInfo fcinfo) {
  return {idem::server::required_text(fcinfo, 0, "stream", idem::streams::kMaxStreamBytes),
          idem::server::required_text(fcinfo, 1, "msg_id", idem::records::kMaxKeyBytes)};
}

MessageTerms read_terms(FunctionCallInfo fcinfo) {
  return {PG_ARGISNULL(2) ? nullptr : PG_GETARG_INTERVAL_P(2),
          idem::server::limited_text(fcinfo, 3, "hash", idem::streams::kMaxHashBytes),
          fcinfo->args[4]};
}

StreamSettings settings_for(FunctionCallInfo fcinfo, const Message &message) {
  return idem::streams::stream_settings(idem::streams::stream_tables(fcinfo, NoLock),
                                        message.stream);
}

Datum acceptance_datum(FunctionCallInfo fcinfo, const MessageAcceptance &acceptance) {
  const NullableDatum outcome = {
      CStringGetTextDatum(acceptance.duplicate ? "duplicate" : "accepted"), false};
  // A result that was brought is not news.
  const NullableDatum result =
      acceptance.duplicate ? acceptance.result : NullableDatum{Datum{0}, true};
  Datum values[] = {outcome.value, acceptance.first_seen.value, result.value};
  bool nulls[] = {outcome.isnull, acceptance.first_seen.isnull, result.isnull};
  TupleDesc descriptor = lookup_rowtype_tupdesc(get_func_rettype(fcinfo->flinfo->fn_oid), -1);
  if (descriptor->natts != static_cast<int>(lengthof(values)))
    elog(ERROR, "type idem_message_acceptance has %d columns instead of %zu", descriptor->natts,
         lengthof(values));
  HeapTuple tuple = heap_form_tuple(descriptor, values, nulls);
  ReleaseTupleDesc(descriptor);
  return HeapTupleGetDatum(tuple);
}

}  // namespace

IDEM_FUNCTION(idem_accept_id) {
  idem::server::require_writable("idem_accept_id()");
  const Message message = read_message(fcinfo);
  const MessageTerms terms = read_terms(fcinfo);
  const StreamSettings settings = settings_for(fcinfo, message);
  const RecordsTable table = idem::records::records_table(fcinfo, AccessShareLock);
  return acceptance_datum(fcinfo, idem::streams::accept_message(table, settings, message, terms));
}

IDEM_FUNCTION(idem_accept_forget) {
  idem::server::require_writable("idem_accept_forget()");
  const Message message = read_message(fcinfo);
  (void)settings_for(fcinfo, message);
  const RecordsTable table = idem::records::records_table(fcinfo, RowExclusiveLock);
  return BoolGetDatum(idem::streams::forget_message(table, message));
}
