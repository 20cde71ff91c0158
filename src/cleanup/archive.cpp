#include "cleanup/archive.hpp"

#include "server/compat.hpp"
#include "server/inheritance.hpp"
#include "server/prelude.hpp"
#include "server/statement.hpp"

namespace idem::cleanup {

namespace {

using server::Statement;

constexpr int kDropPatience = 1000;  // ms
constexpr TimestampTz kAhead = 7 * USECS_PER_DAY;

Statement archives_statement = {
    "SELECT FROM @idem_scopes WHERE on_expiry OPERATOR(pg_catalog.=) 'archive'", 0, {}};

// Named by the month, so that the name alone says what is inside. Months are counted in UTC,
// whatever the time zone of the session.
Statement months_statement = {
    "SELECT pg_catalog.to_char(m, '\"idem_archive_\"YYYY_MM'),"
    " pg_catalog.to_char(m, 'YYYY-MM-DD 00:00:00+00'),"
    " pg_catalog.to_char(m OPERATOR(pg_catalog.+) '1 month'::pg_catalog.interval,"
    " 'YYYY-MM-DD 00:00:00+00')"
    " FROM pg_catalog.date_trunc('month', pg_catalog.timezone('UTC', $1)) AS m",
    1,
    {TIMESTAMPTZOID}};

// The names order as their months do.
Statement oldest_statement = {
    "SELECT c.relname FROM pg_catalog.pg_inherits AS i"
    " JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) i.inhrelid"
    " WHERE i.inhparent OPERATOR(pg_catalog.=) $1"
    " AND c.relname OPERATOR(pg_catalog.~) '^idem_archive_[0-9]{4}_[0-9]{2}$'"
    " AND c.relname OPERATOR(pg_catalog.<) $2::pg_catalog.name ORDER BY c.relname LIMIT 1",
    2,
    {OIDOID, TEXTOID}};

#define DOOMED                                                        \
  "WITH doomed AS MATERIALIZED (SELECT scope, key FROM @idem_records" \
  " WHERE expires_at OPERATOR(pg_catalog.<=) $1"                      \
  " AND (status OPERATOR(pg_catalog.<>) 'in_progress'"                \
  " OR lease_expires_at OPERATOR(pg_catalog.<=) $1)"                  \
  " ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)"
#define DELETE_DOOMED                                  \
  " DELETE FROM @idem_records AS r USING doomed"       \
  " WHERE r.scope OPERATOR(pg_catalog.=) doomed.scope" \
  " AND r.key OPERATOR(pg_catalog.=) doomed.key"
#define COLUMNS                                                                               \
  "scope, key, token, attempt, created_at, lease_expires_at, expires_at, owner, fingerprint," \
  " checkpoint, checkpoint_data, status, completed_at, code, result, body"

// Rows are found by key, not by ctid, and chosen once, not by each partition, so that a partitioned
// table is purged as well.
Statement delete_statement = {DOOMED DELETE_DOOMED, 2, {TIMESTAMPTZOID, INT8OID}};

Statement move_statement = {DOOMED
                            ", gone AS (" DELETE_DOOMED
                            " RETURNING r.*),"
                            " kept AS (INSERT INTO @idem_archive (archived_at, " COLUMNS
                            ")"
                            " SELECT $1, " COLUMNS
                            " FROM gone WHERE EXISTS (SELECT FROM @idem_scopes AS s"
                            " WHERE s.scope OPERATOR(pg_catalog.=) gone.scope"
                            " AND s.on_expiry OPERATOR(pg_catalog.=) 'archive')) SELECT FROM gone",
                            2,
                            {TIMESTAMPTZOID, INT8OID}};

#undef DOOMED
#undef DELETE_DOOMED
#undef COLUMNS

struct Month {
  const char *name;
  const char *from;
  const char *to;
};

const char *text_of(int column, MemoryContext context) {
  const char *value = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column);
  return MemoryContextStrdup(context, value);
}

Month month_of(const Premises &premises, TimestampTz time) {
  const MemoryContext caller = CurrentMemoryContext;
  Datum values[] = {TimestampTzGetDatum(time)};
  SPI_connect();
  (void)server::run(months_statement, premises.home, values, nullptr, true, 1);
  const Month month = {text_of(1, caller), text_of(2, caller), text_of(3, caller)};
  SPI_finish();
  return month;
}

void execute_as_owner(const Premises &premises, const char *sql) {
  Oid caller;
  int context;
  // An ERROR needs no undoing here: ending the (sub)transaction restores the user.
  GetUserIdAndSecContext(&caller, &context);
  SetUserIdAndSecContext(premises.home.owner, context | SECURITY_LOCAL_USERID_CHANGE);
  SPI_connect();
  const int code = SPI_execute(sql, false, 0);
  if (code < 0) elog(ERROR, "\"%s\" failed: %s", sql, SPI_result_code_string(code));
  SPI_finish();
  SetUserIdAndSecContext(caller, context);
}

bool is_partition_of(Oid relation, Oid parent) {
  return list_member_oid(server::parents_of(relation), parent);
}

// Attached, not created as a partition, because that would lock out everybody who uses the archive.
void create_partition(const Premises &premises, const Month &month) {
  const char *schema = quote_identifier(get_namespace_name(premises.home.schema));
  execute_as_owner(premises, psprintf("CREATE TABLE %s.%s (LIKE %s.idem_archive INCLUDING STORAGE)",
                                      schema, month.name, schema));
  // A key may be archived many times.
  execute_as_owner(premises,
                   psprintf("CREATE INDEX ON %s.%s (key, scope, archived_at)", schema, month.name));
  execute_as_owner(premises, psprintf("REVOKE ALL ON TABLE %s.%s FROM PUBLIC", schema, month.name));
  execute_as_owner(premises, psprintf("ALTER TABLE %s.idem_archive ATTACH PARTITION %s.%s"
                                      " FOR VALUES FROM ('%s') TO ('%s')",
                                      schema, schema, month.name, month.from, month.to));
}

void provide_partition(const Premises &premises, TimestampTz time) {
  const Month month = month_of(premises, time);
  if (is_partition_of(get_relname_relid(month.name, premises.home.schema), premises.archive))
    return;
  // One at a time; the next one sees what this one made.
  LockRelationOid(premises.archive, ShareUpdateExclusiveLock);
  if (is_partition_of(get_relname_relid(month.name, premises.home.schema), premises.archive))
    return;
  create_partition(premises, month);
}

const char *oldest_partition(const Premises &premises, const char *before) {
  const MemoryContext caller = CurrentMemoryContext;
  Datum values[] = {ObjectIdGetDatum(premises.archive), CStringGetTextDatum(before)};
  SPI_connect();
  const bool found = server::run(oldest_statement, premises.home, values, nullptr, false, 1) == 1;
  const char *name = found ? text_of(1, caller) : nullptr;
  SPI_finish();
  return name;
}

struct Doomed {
  const Premises *premises;
  const char *partition;
};

void drop(void *argument) {
  const auto *doomed = static_cast<const Doomed *>(argument);
  const char *schema = quote_identifier(get_namespace_name(doomed->premises->home.schema));
  execute_as_owner(*doomed->premises, psprintf("DROP TABLE %s.%s", schema, doomed->partition));
}

}  // namespace

bool archives_records(const Premises &premises) {
  SPI_connect();
  const bool some = server::run(archives_statement, premises.home, nullptr, nullptr, false, 1) > 0;
  SPI_finish();
  return some;
}

void provide_partitions(const Premises &premises, TimestampTz now) {
  provide_partition(premises, now);
  provide_partition(premises, now + kAhead);
}

Dropping drop_old_partition(const Premises &premises, TimestampTz now, int retention) {
  const Month kept = month_of(premises, now - retention * USECS_PER_SEC);
  Doomed doomed = {&premises, oldest_partition(premises, kept.name)};
  if (doomed.partition == nullptr) return Dropping::nothing_to_drop;
  return server::run_within(kDropPatience, drop, &doomed) ? Dropping::dropped : Dropping::busy;
}

std::int64_t purge(const Premises &premises, TimestampTz now, std::int64_t limit) {
  const bool archiving = archives_records(premises);
  if (archiving) provide_partitions(premises, now);
  Datum values[] = {TimestampTzGetDatum(now), Int64GetDatum(limit)};
  return static_cast<std::int64_t>(server::execute(archiving ? move_statement : delete_statement,
                                                   premises.home, values, nullptr));
}

}  // namespace idem::cleanup
