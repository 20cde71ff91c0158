#include "cleanup/rules.hpp"

#include "records/archive.hpp"
#include "server/inheritance.hpp"
#include "server/prelude.hpp"
#include "server/settings.hpp"

namespace idem::cleanup {

namespace {

using server::Statement;

// The comparison with the OID tells whether the name still means the table that was attached. A
// column that was dropped has no name.
Statement list_statement = {
    "SELECT e.rel, e.attnum, e.after, e.batch, e.archive,"
    " e.rel::pg_catalog.oid OPERATOR(pg_catalog.<>) e.table_oid"
    " FROM @idem_expiries AS e JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) e.rel"
    " ORDER BY e.rel",
    0,
    {}};

Statement hold_statement = {
    "SELECT rel, attnum, after, batch, archive, false FROM @idem_expiries"
    " WHERE rel OPERATOR(pg_catalog.=) $1 AND table_oid OPERATOR(pg_catalog.=) $1"
    " FOR SHARE SKIP LOCKED",
    1,
    {REGCLASSOID}};

Statement forget_statement = {
    "DELETE FROM @idem_expiries AS e WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_class AS c"
    " WHERE c.oid OPERATOR(pg_catalog.=) e.rel)",
    0,
    {}};

// The qualified name of a relation, or null.
#define NAME_OF(oid)                                                                       \
  "(SELECT pg_catalog.format('%I.%I', n.nspname, c.relname) FROM pg_catalog.pg_class AS c" \
  " JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"      \
  " WHERE c.oid OPERATOR(pg_catalog.=) " oid ")"

// A dump should have the names of today.
Statement rename_statement = {
    "UPDATE @idem_expiries AS e SET col = now.col, table_name = now.table_name,"
    " archive_name = now.archive_name FROM (SELECT i.rel, a.attname AS col," NAME_OF("i.rel")
    " AS table_name," NAME_OF("i.archive") " AS archive_name FROM @idem_expiries AS i"
    " JOIN pg_catalog.pg_attribute AS a ON a.attrelid OPERATOR(pg_catalog.=) i.rel"
    " AND a.attnum OPERATOR(pg_catalog.=) i.attnum AND NOT a.attisdropped"
    " WHERE i.table_oid OPERATOR(pg_catalog.=) i.rel) AS now"
    " WHERE now.rel OPERATOR(pg_catalog.=) e.rel"
    " AND (now.col, now.table_name, now.archive_name) IS DISTINCT FROM"
    " (e.col, e.table_name, e.archive_name)",
    0,
    {}};

Statement attach_statement = {
    "INSERT INTO @idem_expiries AS e (rel, table_oid, table_name, attnum, col, after, batch,"
    " action, archive, archive_name) VALUES ($1, $1," NAME_OF("$1") ", $2, $3, $4, $5,"
    " CASE WHEN $6 IS NULL THEN 'delete' ELSE 'archive' END, $6," NAME_OF("$6") ")"
    " ON CONFLICT (rel) DO UPDATE SET table_name = EXCLUDED.table_name,"
    " attnum = EXCLUDED.attnum, col = EXCLUDED.col, after = EXCLUDED.after,"
    " batch = EXCLUDED.batch, action = EXCLUDED.action, archive = EXCLUDED.archive,"
    " archive_name = EXCLUDED.archive_name",
    6,
    {REGCLASSOID, INT2OID, NAMEOID, INTERVALOID, INT4OID, REGCLASSOID}};

// The table has a trigger that takes every new row for one of a dump.
Statement confirm_statement = {
    "UPDATE @idem_expiries SET table_oid = rel WHERE rel OPERATOR(pg_catalog.=) $1",
    1,
    {REGCLASSOID}};

Statement detach_statement = {
    "DELETE FROM @idem_expiries WHERE rel OPERATOR(pg_catalog.=) $1", 1, {REGCLASSOID}};

// Numbers of columns may differ after a restore; the names are what was dumped. A table that was
// gone by then was dumped as a bare number, which may be any table here.
Statement release_statement = {
    "UPDATE @idem_expiries AS e SET table_oid = e.rel, attnum = a.attnum"
    " FROM pg_catalog.pg_attribute AS a WHERE a.attrelid OPERATOR(pg_catalog.=) e.rel"
    " AND a.attname OPERATOR(pg_catalog.=) e.col AND NOT a.attisdropped"
    " AND e.rel::pg_catalog.oid OPERATOR(pg_catalog.<>) e.table_oid"
    " AND e.table_name OPERATOR(pg_catalog.=)" NAME_OF(
        "e.rel") " AND e.archive_name IS NOT DISTINCT FROM" NAME_OF("e.archive"),
    0,
    {}};

Statement still_held_statement = {
    "SELECT table_name::pg_catalog.text FROM @idem_expiries"
    " WHERE rel::pg_catalog.oid OPERATOR(pg_catalog.<>) table_oid ORDER BY table_name",
    0,
    {}};

#undef NAME_OF

Datum column_of(int row, int column, bool *isnull) {
  return SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column, isnull);
}

void read_rule(int row, Rule *rule) {
  bool isnull;
  rule->table = DatumGetObjectId(column_of(row, 1, &isnull));
  rule->own = rule->records = false;
  rule->column = DatumGetInt16(column_of(row, 2, &isnull));
  rule->after = *DatumGetIntervalP(column_of(row, 3, &isnull));
  const Datum batch = column_of(row, 4, &isnull);
  rule->batch = isnull ? 0 : DatumGetInt32(batch);
  const Datum archive = column_of(row, 5, &isnull);
  rule->archive = isnull ? InvalidOid : DatumGetObjectId(archive);
  rule->held = DatumGetBool(column_of(row, 6, &isnull));
}

List *attached(const Premises &premises) {
  const MemoryContext caller = CurrentMemoryContext;
  SPI_connect();
  const uint64 rows = server::run(list_statement, premises.home, nullptr, nullptr, false, 0);
  const MemoryContext spi = MemoryContextSwitchTo(caller);
  List *rules = NIL;
  for (uint64 row = 0; row < rows; row++) {
    auto *rule = static_cast<Rule *>(palloc0(sizeof(Rule)));
    read_rule(static_cast<int>(row), rule);
    rules = lappend(rules, rule);
  }
  MemoryContextSwitchTo(spi);
  SPI_finish();
  return rules;
}

Rule rule_for(Oid own_table) {
  Rule rule = {};
  rule.table = own_table;
  rule.own = true;
  rule.column = get_attnum(own_table, "expires_at");
  return rule;
}

Rule *copy_of(const Rule &rule) {
  auto *copy = static_cast<Rule *>(palloc(sizeof(Rule)));
  *copy = rule;
  return copy;
}

// A temporary child belongs to its session alone.
bool may_have_rows(Oid relation) {
  const char kind = get_rel_relkind(relation);
  return (kind == RELKIND_RELATION || kind == RELKIND_FOREIGN_TABLE) &&
         get_rel_persistence(relation) != RELPERSISTENCE_TEMP;
}

Rule rule_for_records(const Premises &premises) {
  Rule rule = rule_for(premises.records);
  rule.records = true;
  return rule;
}

Rule held_rule_for_records(const Premises &premises) {
  Rule rule = rule_for_records(premises);
  if (records::archives_records(premises.home)) rule.archive = premises.archive;
  return rule;
}

}  // namespace

Rule rule_for_producers(const Premises &premises) {
  return rule_for(premises.producers);
}

bool has_addresses(Oid records) {
  return server::settings.direct_access && get_rel_relkind(records) == RELKIND_RELATION;
}

List *rules_of(const Premises &premises) {
  return lcons(copy_of(rule_for_records(premises)),
               lcons(copy_of(rule_for_producers(premises)), attached(premises)));
}

bool hold_rule(const Premises &premises, Oid table, Rule *rule) {
  if (table == premises.records || table == premises.producers) {
    *rule =
        table == premises.records ? held_rule_for_records(premises) : rule_for_producers(premises);
    return true;
  }
  Datum values[] = {ObjectIdGetDatum(table)};
  SPI_connect();
  const bool found = server::run(hold_statement, premises.home, values, nullptr, false, 1) == 1;
  if (found) read_rule(0, rule);
  SPI_finish();
  return found;
}

void tidy(const Premises &premises) {
  (void)server::execute(forget_statement, premises.home, nullptr, nullptr);
  (void)server::execute(rename_statement, premises.home, nullptr, nullptr);
}

void attach(const Premises &premises, const Rule &rule, const char *column) {
  NameData name;
  namestrcpy(&name, column);
  Datum values[] = {ObjectIdGetDatum(rule.table), Int16GetDatum(rule.column),
                    NameGetDatum(&name),          IntervalPGetDatum(&rule.after),
                    Int32GetDatum(rule.batch),    ObjectIdGetDatum(rule.archive)};
  const char nulls[] = {
      ' ', ' ', ' ', ' ', rule.batch == 0 ? 'n' : ' ', OidIsValid(rule.archive) ? ' ' : 'n', '\0'};
  (void)server::execute(attach_statement, premises.home, values, nulls);
  (void)server::execute(confirm_statement, premises.home, values, nullptr);
}

bool detach(const Premises &premises, Oid table) {
  Datum values[] = {ObjectIdGetDatum(table)};
  return server::execute(detach_statement, premises.home, values, nullptr) > 0;
}

bool release_held(const Premises &premises) {
  const bool some = server::execute(release_statement, premises.home, nullptr, nullptr) > 0;
  SPI_connect();
  const uint64 held = server::run(still_held_statement, premises.home, nullptr, nullptr, false, 0);
  for (uint64 row = 0; row < held; row++)
    ereport(WARNING, (errmsg("table %s stays held",
                             SPI_getvalue(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, 1)),
                      errdetail("The table, its column or its archive is not what it was when the "
                                "dump was made."),
                      errhint("Call idem_expire_attach for it, or idem_expire_detach.")));
  SPI_finish();
  return some;
}

List *leaves_of(const Rule &rule) {
  List *leaves = NIL;
  ListCell *cell;
  foreach (cell, server::descendants_of(rule.table))
    if (may_have_rows(lfirst_oid(cell))) leaves = lappend_oid(leaves, lfirst_oid(cell));
  // One order for all, as locks on them are waited for.
  list_sort(leaves, list_oid_cmp);
  return leaves;
}

Datum expired_up_to(const Rule &rule, Oid column_type, TimestampTz now) {
  const Datum cutoff = DirectFunctionCall2(timestamptz_mi_interval, TimestampTzGetDatum(now),
                                           IntervalPGetDatum(&rule.after));
  if (column_type == TIMESTAMPTZOID) return cutoff;
  const Datum local = DirectFunctionCall1(timestamptz_timestamp, cutoff);
  return column_type == DATEOID ? DirectFunctionCall1(timestamp_date, local) : local;
}

TimestampTz expiry_of(const Rule &rule, Oid column_type, Datum value) {
  // Values such as the last date there is stand for never, and adding to them would be an error.
  constexpr TimestampTz kNever = 250000 * 365 * USECS_PER_DAY;
  if (column_type == DATEOID) {
    if (DatumGetDateADT(value) >= kNever / USECS_PER_DAY) return DT_NOEND;
    value = DirectFunctionCall1(date_timestamptz, value);
  }
  if (DatumGetTimestampTz(value) >= kNever) return DT_NOEND;
  if (column_type == TIMESTAMPOID) value = DirectFunctionCall1(timestamp_timestamptz, value);
  return DatumGetTimestampTz(
      DirectFunctionCall2(timestamptz_pl_interval, value, IntervalPGetDatum(&rule.after)));
}

}  // namespace idem::cleanup
