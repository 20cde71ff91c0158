// idem_history_of: what happened to a row.

#include "machines/arguments.hpp"
#include "machines/changes.hpp"
#include "machines/subject.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "server/rows.hpp"

namespace {

using idem::machines::Attachment;
using idem::machines::KeyCondition;
using idem::machines::RowKey;
using idem::machines::Subject;

constexpr int kColumns = 11;

idem::server::Statement history_statement = {
    "SELECT at, from_state, to_state, event, event_id, data, machine, machine_version, xid, role,"
    " application_name FROM @idem_history WHERE attachment OPERATOR(pg_catalog.=) $1"
    " AND key OPERATOR(pg_catalog.=) $2 AND key_hash OPERATOR(pg_catalog.=) $3 ORDER BY id",
    3,
    {TEXTOID, JSONBOID, INT8OID}};

// Whoever may not see the row may not see its history either, and the history of a row that is gone
// is for operators, who read the table.
idem::machines::KeyOfRow visible_key(Relation relation, const Attachment *attachment, Jsonb *key) {
  const RowKey columns = idem::machines::key_of_rows(relation, attachment->column);
  const KeyCondition condition = idem::machines::read_key(relation, attachment->column, key);
  const Subject subject = idem::machines::find_subject(relation, attachment, condition, false);
  return idem::machines::key_of_row(columns, relation, subject.slot);
}

void add_history(const idem::server::Rows &rows) {
  Datum values[kColumns];
  bool nulls[kColumns];
  for (uint64 i = 0; i < SPI_processed; i++) {
    heap_deform_tuple(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, values, nulls);
    rows.add(values, nulls);
  }
}

}  // namespace

IDEM_FUNCTION(idem_history_of) {
  Relation relation = idem::machines::open_table(fcinfo, 0, AccessShareLock, ACL_SELECT);
  Jsonb *key = idem::machines::required_key(fcinfo, 1);
  const idem::server::Rows rows = idem::server::begin_rows(fcinfo);
  const Attachment *attachment =
      idem::machines::find_attachment(relation, get_func_namespace(fcinfo->flinfo->fn_oid),
                                      idem::machines::column_argument(fcinfo, 2));
  const idem::machines::KeyOfRow row = visible_key(relation, attachment, key);
  Datum values[] = {CStringGetTextDatum(attachment->label), JsonbPGetDatum(row.json),
                    Int64GetDatum(row.hash)};
  idem::machines::write_changes();
  SPI_connect();
  (void)idem::server::run(history_statement, attachment->place.home, values, nullptr, false, 0);
  add_history(rows);
  SPI_finish();
  relation_close(relation, NoLock);
  return Datum{0};
}
