// idem_history_of: what happened to a row.

#include "machines/arguments.hpp"
#include "machines/changes.hpp"
#include "machines/subject.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "server/rows.hpp"
#include "tables/arguments.hpp"

namespace {

using idem::machines::Attachment;
using idem::machines::Subject;
using idem::tables::KeyCondition;
using idem::tables::RowKey;

constexpr int kColumns = 11;

idem::server::Statement history_statement = {
    "SELECT at, from_state, to_state, event, event_id, data, machine, machine_version, xid, role,"
    " application_name FROM @idem_history WHERE attachment OPERATOR(pg_catalog.=) $1"
    " AND key_hash OPERATOR(pg_catalog.=) $3"
    // The column of a key may have been called something else then.
    " AND (key OPERATOR(pg_catalog.=) $2"
    " OR pg_catalog.jsonb_path_query_array(key, '$.*') OPERATOR(pg_catalog.=) $4) ORDER BY id",
    4,
    {TEXTOID, JSONBOID, INT8OID, JSONBOID}};

struct RowToShow {
  const Attachment *attachment;
  idem::tables::KeyOfRow key;
  Jsonb *values;
};

// Whoever may not see the row may not see its history either, and the history of a row that is gone
// is for operators, who read the table.
RowToShow find_visible(Relation relation, const Attachment *attachment, Jsonb *key) {
  const RowKey columns = idem::tables::key_of_rows(relation, attachment->column);
  const KeyCondition condition = idem::tables::read_key(relation, attachment->column, key);
  const Subject subject = idem::machines::find_subject(relation, attachment, condition, false);
  if (columns.columns == 0) idem::machines::refuse_without_key(relation);
  return {attachment, idem::tables::key_of_row(columns, relation, subject.slot),
          idem::tables::values_of_key(columns, relation, subject.slot)};
}

RowToShow row_to_show(FunctionCallInfo fcinfo, Jsonb *key) {
  const Oid schema = get_func_namespace(fcinfo->flinfo->fn_oid);
  const char *column = idem::tables::column_argument(fcinfo, 2);
  Relation named = idem::tables::open_table(fcinfo, 0, AccessShareLock, ACL_SELECT);
  const Attachment *attachment = idem::machines::find_attachment(named, schema, column);
  Relation relation = idem::machines::table_of_row(named, attachment->column, key, AccessShareLock);
  if (relation != named) attachment = idem::machines::find_attachment(relation, schema, column);
  const RowToShow row = find_visible(relation, attachment, key);
  if (relation != named) relation_close(relation, NoLock);
  relation_close(named, NoLock);
  return row;
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
  const RowToShow row = row_to_show(fcinfo, idem::tables::required_key(fcinfo, 1));
  const idem::server::Rows rows = idem::server::begin_rows(fcinfo);
  Datum values[] = {CStringGetTextDatum(row.attachment->label), JsonbPGetDatum(row.key.json),
                    Int64GetDatum(row.key.hash), JsonbPGetDatum(row.values)};
  idem::machines::write_changes();
  SPI_connect();
  (void)idem::server::run(history_statement, row.attachment->place.home, values, nullptr, false, 0);
  add_history(rows);
  SPI_finish();
  return Datum{0};
}
