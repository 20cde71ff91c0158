#include "records/request.hpp"
#include "records/scopes.hpp"
#include "records/store.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace {

using idem::records::Identity;
using idem::records::kColumns;
using idem::records::Presence;
using idem::records::RecordsTable;
using idem::records::Sighting;

// idem_record has the columns of idem_records in the order of Column.
Datum record_datum(const RecordsTable &table, Sighting &sighting) {
  TupleDesc descriptor = lookup_rowtype_tupdesc(table.record_type, -1);
  if (descriptor->natts != kColumns)
    elog(ERROR, "type idem_record has %d columns instead of %d", descriptor->natts, kColumns);
  HeapTuple tuple = heap_form_tuple(descriptor, sighting.record.values, sighting.record.nulls);
  ReleaseTupleDesc(descriptor);
  return HeapTupleGetDatum(tuple);
}

}  // namespace

IDEM_FUNCTION(idem_get) {
  if (!SRF_IS_FIRSTCALL()) {
    FuncCallContext *calls = SRF_PERCALL_SETUP();
    SRF_RETURN_DONE(calls);
  }
  (void)SRF_FIRSTCALL_INIT();
  const Identity id = idem::records::read_identity(fcinfo, 0, 1);
  const RecordsTable table = idem::records::records_table(fcinfo, AccessShareLock);
  (void)idem::records::open_scope_settings(table, id.scope);
  Sighting sighting = idem::records::look_in_snapshot(table, id);
  FuncCallContext *calls = SRF_PERCALL_SETUP();
  if (sighting.presence != Presence::present ||
      idem::records::expired(sighting.record.state, GetCurrentTimestamp()))
    SRF_RETURN_DONE(calls);
  SRF_RETURN_NEXT(calls, record_datum(table, sighting));
}
