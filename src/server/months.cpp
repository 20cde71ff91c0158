#include "server/months.hpp"

#include "server/compat.hpp"
#include "server/inheritance.hpp"
#include "server/prelude.hpp"

namespace idem::server {

Oid parent_of_months(const MonthlyTable &table, const Home &home) {
  return get_relname_relid(table.name, home.schema);
}

namespace {

constexpr int kPatience = 1000;  // ms
constexpr TimestampTz kAhead = 7 * USECS_PER_DAY;

// The names order as their months do.
Statement oldest_statement = {
    "SELECT pg_catalog.format('%I.%I', n.nspname, c.relname) FROM pg_catalog.pg_inherits AS i"
    " JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) i.inhrelid"
    " JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
    " WHERE i.inhparent OPERATOR(pg_catalog.=) $1"
    " AND c.relname OPERATOR(pg_catalog.~) $2"
    " AND c.relname OPERATOR(pg_catalog.<) $3::pg_catalog.name ORDER BY c.relname LIMIT 1",
    3,
    {OIDOID, TEXTOID, TEXTOID}};

// Named by the month, so that the name alone says what is inside.
struct Month {
  const char *name;
  const char *from;
  const char *to;
};

const char *start_of_month(int year, int month) {
  return psprintf("%04d-%02d-01 00:00:00+00", year, month);
}

// Months are counted in UTC, whatever the time zone of the session.
Month month_of(const MonthlyTable &table, TimestampTz time) {
  struct pg_tm utc;
  fsec_t fraction;
  if (timestamp2tm(time, nullptr, &utc, &fraction, nullptr, nullptr) != 0)
    elog(ERROR, "timestamp out of range");
  const bool last = utc.tm_mon == MONTHS_PER_YEAR;
  return {psprintf("%s_%04d_%02d", table.name, utc.tm_year, utc.tm_mon),
          start_of_month(utc.tm_year, utc.tm_mon),
          start_of_month(last ? utc.tm_year + 1 : utc.tm_year, last ? 1 : utc.tm_mon + 1)};
}

bool is_partition(const MonthlyTable &table, const Home &home, const char *name) {
  return list_member_oid(parents_of(get_relname_relid(name, home.schema)),
                         parent_of_months(table, home));
}

const char *default_partition_of(const MonthlyTable &table) {
  return psprintf("%s_default", table.name);
}

bool has_default_partition(const MonthlyTable &table, const Home &home) {
  return is_partition(table, home, default_partition_of(table));
}

const char *schema_of(const Home &home) {
  return quote_identifier(get_namespace_name(home.schema));
}

void create_table(const MonthlyTable &table, const Home &home, const char *name) {
  const char *schema = schema_of(home);
  execute_text(home, psprintf("CREATE TABLE %s.%s (LIKE %s.%s INCLUDING STORAGE)", schema, name,
                              schema, table.name));
  execute_text(home, psprintf("REVOKE ALL ON TABLE %s.%s FROM PUBLIC", schema, name));
}

// Attached, not created as a partition, because that would lock out everybody who uses the table;
// only who writes to the default partition has to wait.
void attach_partition(const MonthlyTable &table, const Home &home, const char *name,
                      const char *bounds) {
  const char *schema = schema_of(home);
  execute_text(home, psprintf("ALTER TABLE %s.%s ATTACH PARTITION %s.%s %s", schema, table.name,
                              schema, name, bounds));
}

void move_early_rows(const MonthlyTable &table, const Home &home, const Month &month) {
  const char *schema = schema_of(home);
  execute_text(home, psprintf("WITH early AS (DELETE FROM %s.%s"
                              " WHERE %s OPERATOR(pg_catalog.>=) '%s'"
                              " AND %s OPERATOR(pg_catalog.<) '%s' RETURNING *)"
                              " INSERT INTO %s.%s SELECT * FROM early",
                              schema, default_partition_of(table), table.time_column, month.from,
                              table.time_column, month.to, schema, month.name));
}

void create_month(const MonthlyTable &table, const Home &home, const Month &month) {
  create_table(table, home, month.name);
  execute_text(
      home, psprintf("CREATE INDEX ON %s.%s %s", schema_of(home), month.name, table.month_index));
  if (has_default_partition(table, home)) move_early_rows(table, home, month);
  attach_partition(table, home, month.name,
                   psprintf("FOR VALUES FROM ('%s') TO ('%s')", month.from, month.to));
}

void provide_month(const MonthlyTable &table, const Home &home, TimestampTz time) {
  const Month month = month_of(table, time);
  if (is_partition(table, home, month.name)) return;
  // One at a time; the next one sees what this one made.
  LockRelationOid(parent_of_months(table, home), ShareUpdateExclusiveLock);
  if (has_default_partition(table, home))
    LockRelationOid(get_relname_relid(default_partition_of(table), home.schema),
                    AccessExclusiveLock);
  if (is_partition(table, home, month.name)) return;
  create_month(table, home, month);
}

bool has_pages(Oid relation) {
  Relation opened = table_open(relation, AccessShareLock);
  const bool some = RelationGetNumberOfBlocks(opened) > 0;
  table_close(opened, AccessShareLock);
  return some;
}

// The time of the oldest row that the default partition has of the months before; DT_NOEND: none.
// What lies before all years has no month that could be named.
TimestampTz oldest_missed(const MonthlyTable &table, const Home &home, const Month &present) {
  SPI_connect();
  (void)run_text(home, psprintf("SELECT pg_catalog.min(%s) FROM %s.%s"
                                " WHERE %s OPERATOR(pg_catalog.<) '%s'"
                                " AND %s OPERATOR(pg_catalog.>=) '0001-01-01 00:00:00+00'",
                                table.time_column, schema_of(home), default_partition_of(table),
                                table.time_column, present.from, table.time_column));
  bool isnull;
  const Datum oldest = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
  const TimestampTz time = isnull ? DT_NOEND : DatumGetTimestampTz(oldest);
  SPI_finish();
  return time;
}

// A month may have passed with nobody there to make it. One at a time, as each keeps the default
// partition locked.
void provide_missed_month(const MonthlyTable &table, const Home &home, TimestampTz now) {
  if (!has_default_partition(table, home) ||
      !has_pages(get_relname_relid(default_partition_of(table), home.schema)))
    return;
  // Whoever has this lock makes months, and will want the default partition to himself: to wait for
  // him after a look there would be a deadlock.
  if (!ConditionalLockRelationOid(parent_of_months(table, home), ShareUpdateExclusiveLock)) return;
  const TimestampTz oldest = oldest_missed(table, home, month_of(table, now));
  if (!TIMESTAMP_IS_NOEND(oldest)) provide_month(table, home, oldest);
}

struct Wanted {
  const MonthlyTable *table;
  const Home *home;
  TimestampTz now;
};

bool provide(void *argument) {
  const auto *wanted = static_cast<const Wanted *>(argument);
  provide_partitions(*wanted->table, *wanted->home, wanted->now);
  provide_missed_month(*wanted->table, *wanted->home, wanted->now);
  return true;
}

// Qualified and quoted; null: there is none.
const char *oldest_before(const MonthlyTable &table, const Home &home, const char *month) {
  const MemoryContext caller = CurrentMemoryContext;
  Datum values[] = {ObjectIdGetDatum(parent_of_months(table, home)),
                    CStringGetTextDatum(psprintf("^%s_[0-9]{4}_[0-9]{2}$", table.name)),
                    CStringGetTextDatum(month)};
  SPI_connect();
  const bool found = run(oldest_statement, home, values, nullptr, false, 1) == 1;
  const char *name = found ? MemoryContextStrdup(caller, SPI_getvalue(SPI_tuptable->vals[0],
                                                                      SPI_tuptable->tupdesc, 1))
                           : nullptr;
  SPI_finish();
  return name;
}

struct Doomed {
  const Home *home;
  const char *partition;
};

bool drop(void *argument) {
  const auto *doomed = static_cast<const Doomed *>(argument);
  execute_text(*doomed->home, psprintf("DROP TABLE %s", doomed->partition));
  return true;
}

}  // namespace

Oid partition_for(const MonthlyTable &table, const Home &home, TimestampTz time) {
  const Oid month = get_relname_relid(month_of(table, time).name, home.schema);
  if (OidIsValid(month) && get_rel_relispartition(month)) return month;
  return get_relname_relid(default_partition_of(table), home.schema);
}

void provide_default_partition(const MonthlyTable &table, const Home &home) {
  if (has_default_partition(table, home)) return;
  LockRelationOid(parent_of_months(table, home), ShareUpdateExclusiveLock);
  if (has_default_partition(table, home)) return;
  const char *name = default_partition_of(table);
  create_table(table, home, name);
  attach_partition(table, home, name, "DEFAULT");
}

void await_month(const MonthlyTable &table, const Home &home, TimestampTz time) {
  const Oid month = get_relname_relid(month_of(table, time).name, home.schema);
  if (OidIsValid(month) && get_rel_relispartition(month)) return;
  // In the order in which the server takes them where a month is dropped.
  LockRelationOid(parent_of_months(table, home), RowExclusiveLock);
  const Oid partition = get_relname_relid(default_partition_of(table), home.schema);
  if (OidIsValid(partition)) LockRelationOid(partition, RowExclusiveLock);
}

void provide_partitions(const MonthlyTable &table, const Home &home, TimestampTz now) {
  provide_month(table, home, now);
  provide_month(table, home, now + kAhead);
}

bool try_to_provide_partitions(const MonthlyTable &table, const Home &home, TimestampTz now) {
  Wanted wanted = {&table, &home, now};
  return run_within(kPatience, provide, &wanted);
}

bool is_in_use(const MonthlyTable &table, const Home &home) {
  return is_partition(table, home, default_partition_of(table));
}

Dropping drop_old_partition(const MonthlyTable &table, const Home &home, TimestampTz now,
                            int retention) {
  const Month kept = month_of(table, now - retention * USECS_PER_SEC);
  Doomed doomed = {&home, oldest_before(table, home, kept.name)};
  if (doomed.partition == nullptr) return Dropping::nothing_to_drop;
  return run_within(kPatience, drop, &doomed) ? Dropping::dropped : Dropping::busy;
}

}  // namespace idem::server
