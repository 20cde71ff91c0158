#include "records/archive.hpp"

#include "server/compat.hpp"
#include "server/inheritance.hpp"
#include "server/prelude.hpp"
#include "server/statement.hpp"

namespace idem::records {

namespace {

using server::Statement;

constexpr const char *kDefaultPartition = "idem_archive_default";
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
    "SELECT pg_catalog.format('%I.%I', n.nspname, c.relname) FROM pg_catalog.pg_inherits AS i"
    " JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) i.inhrelid"
    " JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
    " WHERE i.inhparent OPERATOR(pg_catalog.=) $1"
    " AND c.relname OPERATOR(pg_catalog.~) '^idem_archive_[0-9]{4}_[0-9]{2}$'"
    " AND c.relname OPERATOR(pg_catalog.<) $2::pg_catalog.name ORDER BY c.relname LIMIT 1",
    2,
    {OIDOID, TEXTOID}};

struct Month {
  const char *name;
  const char *from;
  const char *to;
};

Oid archive_in(const server::Home &home) {
  return get_relname_relid("idem_archive", home.schema);
}

const char *text_of(int column, MemoryContext context) {
  const char *value = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column);
  return MemoryContextStrdup(context, value);
}

Month month_of(const server::Home &home, TimestampTz time) {
  const MemoryContext caller = CurrentMemoryContext;
  Datum values[] = {TimestampTzGetDatum(time)};
  SPI_connect();
  (void)server::run(months_statement, home, values, nullptr, true, 1);
  const Month month = {text_of(1, caller), text_of(2, caller), text_of(3, caller)};
  SPI_finish();
  return month;
}

void execute_as_owner(const server::Home &home, const char *sql) {
  Oid caller;
  int context;
  // An ERROR needs no undoing here: ending the (sub)transaction restores the user.
  GetUserIdAndSecContext(&caller, &context);
  SetUserIdAndSecContext(home.owner, context | SECURITY_LOCAL_USERID_CHANGE);
  SPI_connect();
  const int code = SPI_execute(sql, false, 0);
  if (code < 0) elog(ERROR, "\"%s\" failed: %s", sql, SPI_result_code_string(code));
  SPI_finish();
  SetUserIdAndSecContext(caller, context);
}

bool is_partition_of(Oid relation, Oid parent) {
  return list_member_oid(server::parents_of(relation), parent);
}

bool has_default_partition(const server::Home &home) {
  return is_partition_of(get_relname_relid(kDefaultPartition, home.schema), archive_in(home));
}

const char *schema_of(const server::Home &home) {
  return quote_identifier(get_namespace_name(home.schema));
}

void create_table(const server::Home &home, const char *name) {
  const char *schema = schema_of(home);
  execute_as_owner(home, psprintf("CREATE TABLE %s.%s (LIKE %s.idem_archive INCLUDING STORAGE)",
                                  schema, name, schema));
  execute_as_owner(home, psprintf("REVOKE ALL ON TABLE %s.%s FROM PUBLIC", schema, name));
}

// Attached, not created as a partition, because that would lock out everybody who uses the archive;
// only who writes to the default partition has to wait.
void attach_partition(const server::Home &home, const char *name, const char *bounds) {
  const char *schema = schema_of(home);
  execute_as_owner(home, psprintf("ALTER TABLE %s.idem_archive ATTACH PARTITION %s.%s %s", schema,
                                  schema, name, bounds));
}

void create_partition(const server::Home &home, const Month &month) {
  const char *schema = schema_of(home);
  create_table(home, month.name);
  // A key may be archived many times.
  execute_as_owner(home,
                   psprintf("CREATE INDEX ON %s.%s (key, scope, archived_at)", schema, month.name));
  if (has_default_partition(home))
    execute_as_owner(home,
                     psprintf("WITH early AS (DELETE FROM %s.%s"
                              " WHERE archived_at OPERATOR(pg_catalog.>=) '%s'"
                              " AND archived_at OPERATOR(pg_catalog.<) '%s' RETURNING *)"
                              " INSERT INTO %s.%s SELECT * FROM early",
                              schema, kDefaultPartition, month.from, month.to, schema, month.name));
  attach_partition(home, month.name,
                   psprintf("FOR VALUES FROM ('%s') TO ('%s')", month.from, month.to));
}

const char *oldest_partition(const server::Home &home, const char *before) {
  const MemoryContext caller = CurrentMemoryContext;
  Datum values[] = {ObjectIdGetDatum(archive_in(home)), CStringGetTextDatum(before)};
  SPI_connect();
  const bool found = server::run(oldest_statement, home, values, nullptr, false, 1) == 1;
  const char *name = found ? text_of(1, caller) : nullptr;
  SPI_finish();
  return name;
}

struct Doomed {
  const server::Home *home;
  const char *partition;
};

void drop(void *argument) {
  const auto *doomed = static_cast<const Doomed *>(argument);
  execute_as_owner(*doomed->home, psprintf("DROP TABLE %s", doomed->partition));
}

}  // namespace

void provide_default_partition(const server::Home &home) {
  if (has_default_partition(home)) return;
  LockRelationOid(archive_in(home), ShareUpdateExclusiveLock);
  if (has_default_partition(home)) return;
  create_table(home, kDefaultPartition);
  attach_partition(home, kDefaultPartition, "DEFAULT");
}

bool archives_records(const server::Home &home) {
  SPI_connect();
  const bool some = server::run(archives_statement, home, nullptr, nullptr, false, 1) > 0;
  SPI_finish();
  return some;
}

void provide_partition(const server::Home &home, TimestampTz time) {
  const Month month = month_of(home, time);
  if (is_partition_of(get_relname_relid(month.name, home.schema), archive_in(home))) return;
  // One at a time; the next one sees what this one made.
  LockRelationOid(archive_in(home), ShareUpdateExclusiveLock);
  if (has_default_partition(home))
    LockRelationOid(get_relname_relid(kDefaultPartition, home.schema), AccessExclusiveLock);
  if (is_partition_of(get_relname_relid(month.name, home.schema), archive_in(home))) return;
  create_partition(home, month);
}

void provide_partitions(const server::Home &home, TimestampTz now) {
  provide_partition(home, now);
  provide_partition(home, now + kAhead);
}

Dropping drop_old_partition(const server::Home &home, TimestampTz now, int retention) {
  const Month kept = month_of(home, now - retention * USECS_PER_SEC);
  Doomed doomed = {&home, oldest_partition(home, kept.name)};
  if (doomed.partition == nullptr) return Dropping::nothing_to_drop;
  return server::run_within(kDropPatience, drop, &doomed) ? Dropping::dropped : Dropping::busy;
}

}  // namespace idem::records
