#include "records/by_sql.hpp"

#include "records/archive.hpp"
#include "server/prelude.hpp"
#include "server/statement.hpp"

namespace idem::records {

namespace {

using server::Statement;

// Types and operators are spelt out in full: a search_path of the caller's must not change their
// meaning.
#define THE_RECORD "scope OPERATOR(pg_catalog.=) $1 AND key OPERATOR(pg_catalog.=) $2"
#define THE_CLAIM \
  THE_RECORD      \
  " AND token OPERATOR(pg_catalog.=) $3 AND status OPERATOR(pg_catalog.=) 'in_progress'"

Statement insert_statement = {
    "INSERT INTO @idem_records (scope, key, token, attempt, owner, created_at,"
    " lease_expires_at, expires_at, fingerprint, code, checkpoint_data, status, completed_at,"
    " result, body)"
    " VALUES ($1, $2, $3, 1, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"
    " ON CONFLICT (scope, key) DO NOTHING",
    14,
    {TEXTOID, TEXTOID, INT8OID, TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID, TIMESTAMPTZOID, BYTEAOID,
     INT4OID, JSONBOID, TEXTOID, TIMESTAMPTZOID, JSONBOID, BYTEAOID}};

#define AS_EXPECTED                                                             \
  THE_RECORD                                                                    \
  " AND token OPERATOR(pg_catalog.=) $15 AND status OPERATOR(pg_catalog.=) $16" \
  " AND lease_expires_at OPERATOR(pg_catalog.=) $17"
#define CLAIM_AS_NEW                                                               \
  "UPDATE @idem_records SET token = $3, attempt = 1, owner = $4, created_at = $5," \
  " lease_expires_at = $6, expires_at = $7, fingerprint = $8, code = $9,"          \
  " checkpoint = NULL, checkpoint_data = $10, status = $11, completed_at = $12,"   \
  " result = $13, body = $14 WHERE " AS_EXPECTED
#define RECLAIM_PARAMETERS                                                                        \
  17, {                                                                                           \
    TEXTOID, TEXTOID, INT8OID, TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID, TIMESTAMPTZOID, BYTEAOID, \
        INT4OID, JSONBOID, TEXTOID, TIMESTAMPTZOID, JSONBOID, BYTEAOID, INT8OID, TEXTOID,         \
        TIMESTAMPTZOID                                                                            \
  }

Statement reclaim_statement = {CLAIM_AS_NEW, RECLAIM_PARAMETERS};

// Locked first, and harder than an UPDATE does: see share_claim.
Statement reclaim_alone_statement = {
    "WITH former AS MATERIALIZED (SELECT FROM @idem_records WHERE " AS_EXPECTED
    " FOR UPDATE) " CLAIM_AS_NEW " AND EXISTS (SELECT FROM former)",
    RECLAIM_PARAMETERS};

// Locked first: what is kept is what is overwritten, or nothing of either.
Statement reclaim_archiving_statement = {
    "WITH former AS MATERIALIZED (SELECT * FROM @idem_records WHERE " AS_EXPECTED
    " FOR UPDATE), kept AS (INSERT INTO @idem_archive (archived_at, " IDEM_RECORD_COLUMNS
    ") SELECT $5, " IDEM_RECORD_COLUMNS " FROM former) " CLAIM_AS_NEW
    " AND EXISTS (SELECT FROM former)",
    RECLAIM_PARAMETERS};

#undef RECLAIM_PARAMETERS
#undef CLAIM_AS_NEW
#undef AS_EXPECTED

// expires_at stays as the first claim fixed it: moving it would cost a new index entry.
Statement take_over_statement = {
    "UPDATE @idem_records SET token = $4, attempt = attempt OPERATOR(pg_catalog.+) 1, owner = $5,"
    " lease_expires_at = $6, fingerprint = COALESCE(fingerprint, $7) WHERE " THE_CLAIM
    " AND lease_expires_at OPERATOR(pg_catalog.=) $8"
    " RETURNING attempt, checkpoint, checkpoint_data",
    8,
    {TEXTOID, TEXTOID, INT8OID, INT8OID, TEXTOID, TIMESTAMPTZOID, BYTEAOID, TIMESTAMPTZOID}};

Statement renew_statement = {
    "UPDATE @idem_records SET token = $4, created_at = COALESCE($5, created_at),"
    " lease_expires_at = $6, expires_at = COALESCE($7, expires_at) WHERE " THE_CLAIM,
    7,
    {TEXTOID, TEXTOID, INT8OID, INT8OID, TIMESTAMPTZOID, TIMESTAMPTZOID, TIMESTAMPTZOID}};

Statement redate_statement = {
    "UPDATE @idem_records SET created_at = COALESCE($4, created_at),"
    " completed_at = COALESCE($4, completed_at), expires_at = GREATEST(expires_at, $5)"
    " WHERE " THE_RECORD
    " AND token OPERATOR(pg_catalog.=) $3 AND status OPERATOR(pg_catalog.<>) 'in_progress'",
    5,
    {TEXTOID, TEXTOID, INT8OID, TIMESTAMPTZOID, TIMESTAMPTZOID}};

Statement settle_statement = {
    "UPDATE @idem_records SET status = $4, code = $5, result = $6, body = $7,"
    " completed_at = pg_catalog.clock_timestamp() WHERE " THE_CLAIM,
    7,
    {TEXTOID, TEXTOID, INT8OID, TEXTOID, INT4OID, JSONBOID, BYTEAOID}};

// The row stays, so that the tokens of successive claims of a key never go back.
Statement release_statement = {
    "UPDATE @idem_records SET status = 'released', code = NULL, checkpoint = NULL,"
    " checkpoint_data = NULL, completed_at = pg_catalog.clock_timestamp() WHERE " THE_CLAIM,
    3,
    {TEXTOID, TEXTOID, INT8OID}};

// A grace period must not outlive the record, so that no cleanup cuts it short.
Statement extend_statement = {
    "UPDATE @idem_records SET lease_expires_at = GREATEST(lease_expires_at, $4),"
    " expires_at = CASE WHEN code IS NULL THEN expires_at ELSE GREATEST(expires_at,"
    " $4 OPERATOR(pg_catalog.+) pg_catalog.make_interval(secs => code"
    " OPERATOR(pg_catalog./) 1000.0)) END WHERE " THE_CLAIM
    " AND ($5 OR lease_expires_at OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp())"
    " RETURNING lease_expires_at",
    5,
    {TEXTOID, TEXTOID, INT8OID, TIMESTAMPTZOID, BOOLOID}};

// A rest must not outlive the record either.
Statement retire_statement = {
    "UPDATE @idem_records SET status = 'released', lease_expires_at = $4,"
    " expires_at = GREATEST(expires_at, $4), code = 0, checkpoint = NULL, checkpoint_data = NULL,"
    " completed_at = pg_catalog.clock_timestamp() WHERE " THE_CLAIM,
    4,
    {TEXTOID, TEXTOID, INT8OID, TIMESTAMPTZOID}};

Statement share_statement = {
    "SELECT FROM @idem_records WHERE " THE_CLAIM " FOR KEY SHARE", 3, {TEXTOID, TEXTOID, INT8OID}};

Statement checkpoint_statement = {
    "UPDATE @idem_records SET checkpoint = $4, checkpoint_data = $5 WHERE " THE_CLAIM
    " AND ($6 OR lease_expires_at OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp())",
    6,
    {TEXTOID, TEXTOID, INT8OID, TEXTOID, JSONBOID, BOOLOID}};

Statement resolve_statement = {
    "UPDATE @idem_records SET token = $4, status = $5, code = $6, result = $7,"
    " lease_expires_at = $8, completed_at = $9 WHERE " THE_CLAIM
    " AND lease_expires_at OPERATOR(pg_catalog.=) $10",
    10,
    {TEXTOID, TEXTOID, INT8OID, INT8OID, TEXTOID, INT4OID, JSONBOID, TIMESTAMPTZOID, TIMESTAMPTZOID,
     TIMESTAMPTZOID}};

Statement forget_statement = {
    "DELETE FROM @idem_records WHERE " THE_RECORD
    " AND token OPERATOR(pg_catalog.=) $3 AND status OPERATOR(pg_catalog.=) $4"
    " AND lease_expires_at OPERATOR(pg_catalog.=) $5",
    5,
    {TEXTOID, TEXTOID, INT8OID, TEXTOID, TIMESTAMPTZOID}};

// In the order of Column, and xmin last.
Statement look_statement = {
    "SELECT scope, key, status, token, attempt, owner, created_at, lease_expires_at, expires_at,"
    " completed_at, fingerprint, code, result, body, checkpoint, checkpoint_data, xmin"
    " FROM @idem_records WHERE " THE_RECORD,
    2,
    {TEXTOID, TEXTOID}};

#undef THE_CLAIM
#undef THE_RECORD

// Parameters of one execution, in order.
struct Parameters {
  Datum values[17];
  char nulls[17];
  int count;

  void add(Datum value) {
    values[count] = value;
    nulls[count++] = ' ';
  }
  void add(NullableDatum value) {
    values[count] = value.value;
    nulls[count++] = value.isnull ? 'n' : ' ';
  }
  void add_pointer(const void *value) {
    add(NullableDatum{PointerGetDatum(value), value == nullptr});
  }
  void add_time(TimestampTz time) { add(TimestampTzGetDatum(time)); }
  void add_status(Status status) { add(CStringGetTextDatum(status_name(status))); }
};

Parameters parameters_for(const Identity &id) {
  Parameters parameters;
  parameters.count = 0;
  parameters.add_pointer(id.scope);
  parameters.add_pointer(id.key);
  return parameters;
}

// The first parameters of the statements that make a claim as new, or settle one at once.
Parameters parameters_for(const Identity &id, const Grant &grant) {
  Parameters parameters = parameters_for(id);
  parameters.add(Int64GetDatum(grant.token));
  parameters.add_pointer(grant.owner);
  parameters.add_time(grant.granted_at);
  parameters.add_time(grant.lease_expires_at);
  parameters.add_time(grant.expires_at);
  parameters.add_pointer(grant.fingerprint);
  const Outcome *outcome = grant.outcome;
  constexpr NullableDatum kNull = {0, true};
  parameters.add(outcome != nullptr ? outcome->code : grant.grace);
  parameters.add(grant.data);
  parameters.add_status(outcome != nullptr ? outcome->status : Status::in_progress);
  parameters.add(NullableDatum{TimestampTzGetDatum(grant.granted_at), outcome == nullptr});
  parameters.add(outcome != nullptr ? outcome->result : kNull);
  parameters.add(outcome != nullptr ? outcome->body : kNull);
  return parameters;
}

bool wrote(Statement &statement, const RecordsTable &table, Parameters &parameters) {
  return server::execute(statement, table.home, parameters.values, parameters.nulls) == 1;
}

// A column of the row that the last statement returned, copied into `context`. Call it inside SPI.
NullableDatum returned(int column, bool by_value, MemoryContext context) {
  NullableDatum datum;
  datum.value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, &datum.isnull);
  if (datum.isnull || by_value) return datum;
  const MemoryContext spi = MemoryContextSwitchTo(context);
  datum.value = datumCopy(datum.value, false, -1);
  MemoryContextSwitchTo(spi);
  return datum;
}

bool reclaim_by(Statement &statement, const RecordsTable &table, const Identity &id,
                const Grant &grant, const RecordState &expected) {
  Parameters parameters = parameters_for(id, grant);
  parameters.add(Int64GetDatum(expected.token));
  parameters.add_status(expected.status);
  parameters.add_time(expected.lease_expires_at);
  return wrote(statement, table, parameters);
}

}  // namespace

Sighting look_by_sql(const RecordsTable &table, const Identity &id, bool read_only) {
  Sighting sighting;
  sighting.presence = Presence::absent;
  Parameters parameters = parameters_for(id);
  SPI_connect();
  if (server::run(look_statement, table.home, parameters.values, parameters.nulls, read_only, 1) ==
      1) {
    AttrNumber columns[kColumns];
    for (int i = 0; i < kColumns; i++) columns[i] = static_cast<AttrNumber>(i + 1);
    const TupleDesc descriptor = SPI_tuptable->tupdesc;
    HeapTuple tuple = SPI_tuptable->vals[0];
    bool isnull;
    const Datum xmin = SPI_getbinval(tuple, descriptor, kColumns + 1, &isnull);
    sighting.presence = Presence::present;
    sighting.record =
        read_record(SPI_copytuple(tuple), descriptor, columns, DatumGetTransactionId(xmin));
  }
  SPI_finish();
  return sighting;
}

bool insert_by_sql(const RecordsTable &table, const Identity &id, const Grant &grant) {
  Parameters parameters = parameters_for(id, grant);
  return wrote(insert_statement, table, parameters);
}

bool take_over_by_sql(const RecordsTable &table, const Identity &id, const Grant &grant,
                      const RecordState &expected, Handover *handover) {
  Parameters parameters = parameters_for(id);
  parameters.add(Int64GetDatum(expected.token));
  parameters.add(Int64GetDatum(grant.token));
  parameters.add_pointer(grant.owner);
  parameters.add_time(grant.lease_expires_at);
  parameters.add_pointer(grant.fingerprint);
  parameters.add_time(expected.lease_expires_at);
  const MemoryContext caller = CurrentMemoryContext;
  SPI_connect();
  const bool taken = server::run(take_over_statement, table.home, parameters.values,
                                 parameters.nulls, false, 0) == 1;
  if (taken) {
    handover->attempt = DatumGetInt32(returned(1, true, caller).value);
    handover->checkpoint = returned(2, false, caller);
    handover->checkpoint_data = returned(3, false, caller);
  }
  SPI_finish();
  return taken;
}

bool redate_by_sql(const RecordsTable &table, const Identity &id, std::int64_t token,
                   NullableDatum created_at, TimestampTz expires_at) {
  Parameters parameters = parameters_for(id);
  parameters.add(Int64GetDatum(token));
  parameters.add(created_at);
  parameters.add_time(expires_at);
  return wrote(redate_statement, table, parameters);
}

bool settle_by_sql(const RecordsTable &table, const Identity &id, std::int64_t token,
                   const Outcome &outcome) {
  Parameters parameters = parameters_for(id);
  parameters.add(Int64GetDatum(token));
  parameters.add_status(outcome.status);
  parameters.add(outcome.code);
  parameters.add(outcome.result);
  parameters.add(outcome.body);
  return wrote(settle_statement, table, parameters);
}

bool release_by_sql(const RecordsTable &table, const Identity &id, std::int64_t token) {
  Parameters parameters = parameters_for(id);
  parameters.add(Int64GetDatum(token));
  return wrote(release_statement, table, parameters);
}

bool extend_by_sql(const RecordsTable &table, const Identity &id, std::int64_t token,
                   TimestampTz until, bool overdue, TimestampTz *lease_expires_at) {
  Parameters parameters = parameters_for(id);
  parameters.add(Int64GetDatum(token));
  parameters.add_time(until);
  parameters.add(BoolGetDatum(overdue));
  SPI_connect();
  const bool extended =
      server::run(extend_statement, table.home, parameters.values, parameters.nulls, false, 0) == 1;
  if (extended)
    *lease_expires_at = DatumGetTimestampTz(returned(1, true, CurrentMemoryContext).value);
  SPI_finish();
  return extended;
}

bool retire_by_sql(const RecordsTable &table, const Identity &id, std::int64_t token,
                   TimestampTz until) {
  Parameters parameters = parameters_for(id);
  parameters.add(Int64GetDatum(token));
  parameters.add_time(until);
  return wrote(retire_statement, table, parameters);
}

bool share_by_sql(const RecordsTable &table, const Identity &id, std::int64_t token) {
  Parameters parameters = parameters_for(id);
  parameters.add(Int64GetDatum(token));
  return wrote(share_statement, table, parameters);
}

bool reclaim_by_sql(const RecordsTable &table, const Identity &id, const Grant &grant,
                    const RecordState &expected, bool alone) {
  return reclaim_by(alone ? reclaim_alone_statement : reclaim_statement, table, id, grant,
                    expected);
}

bool renew_by_sql(const RecordsTable &table, const Identity &id, const Grant &grant,
                  std::int64_t token, bool first_attempt) {
  Parameters parameters = parameters_for(id);
  parameters.add(Int64GetDatum(token));
  parameters.add(Int64GetDatum(grant.token));
  parameters.add(NullableDatum{TimestampTzGetDatum(grant.granted_at), !first_attempt});
  parameters.add_time(grant.lease_expires_at);
  parameters.add(NullableDatum{TimestampTzGetDatum(grant.expires_at), !first_attempt});
  return wrote(renew_statement, table, parameters);
}

bool checkpoint_by_sql(const RecordsTable &table, const Identity &id, std::int64_t token,
                       Datum name, NullableDatum data, bool overdue) {
  Parameters parameters = parameters_for(id);
  parameters.add(Int64GetDatum(token));
  parameters.add(name);
  parameters.add(data);
  parameters.add(BoolGetDatum(overdue));
  return wrote(checkpoint_statement, table, parameters);
}

bool resolve_by_sql(const RecordsTable &table, const Identity &id, std::int64_t token,
                    const Outcome &outcome, const RecordState &expected) {
  const bool settled = outcome.status != Status::in_progress;
  Parameters parameters = parameters_for(id);
  parameters.add(Int64GetDatum(expected.token));
  parameters.add(Int64GetDatum(token));
  parameters.add_status(outcome.status);
  parameters.add(outcome.code);
  parameters.add(outcome.result);
  parameters.add_time(settled ? expected.lease_expires_at : kGivenToNext);
  parameters.add(NullableDatum{TimestampTzGetDatum(GetCurrentTimestamp()), !settled});
  parameters.add_time(expected.lease_expires_at);
  return wrote(resolve_statement, table, parameters);
}

bool forget_by_sql(const RecordsTable &table, const Identity &id, const RecordState &expected) {
  Parameters parameters = parameters_for(id);
  parameters.add(Int64GetDatum(expected.token));
  parameters.add_status(expected.status);
  parameters.add_time(expected.lease_expires_at);
  return wrote(forget_statement, table, parameters);
}

bool reclaim_archiving_by_sql(const RecordsTable &table, const Identity &id, const Grant &grant,
                              const RecordState &expected) {
  // It is there since the scope began to archive, unless somebody took it away.
  server::provide_default_partition(kArchive, table.home);
  server::await_month(kArchive, table.home, grant.granted_at);
  return reclaim_by(reclaim_archiving_statement, table, id, grant, expected);
}

}  // namespace idem::records
