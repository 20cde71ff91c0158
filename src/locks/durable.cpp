#include "locks/durable.hpp"

#include "locks/held.hpp"
#include "records/request.hpp"
#include "server/arguments.hpp"
#include "server/prelude.hpp"
#include "server/statement.hpp"

namespace idem::locks {

namespace {

constexpr char kScope[] = "idem.lock";

// The clock keeps the condition from becoming a join, so each number is looked up by its key.
server::Statement free_statement = {
    "SELECT n.number, n.name FROM (SELECT g AS number,"
    " @idem_key(VARIADIC ARRAY[$1, g::pg_catalog.text]) AS name"
    " FROM pg_catalog.generate_series($2, $3) AS g OFFSET 0) AS n"
    " WHERE $4 OR NOT EXISTS (SELECT FROM @idem_records"
    " WHERE key OPERATOR(pg_catalog.=) n.name AND " IDEM_LOCK_IS_HELD ") ORDER BY n.number",
    4,
    {TEXTOID, INT4OID, INT4OID, BOOLOID}};

NumberedLock read_row(uint64 row) {
  bool isnull;
  const Datum number = SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, 1, &isnull);
  const Datum name = SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, 2, &isnull);
  return {DatumGetInt32(number), DatumGetTextPCopy(name)};
}

}  // namespace

records::Identity durable_lock(const text *name) {
  return {cstring_to_text(kScope), name};
}

records::RecordsTable locks_table(FunctionCallInfo fcinfo, LOCKMODE mode) {
  records::RecordsTable table = records::records_table(fcinfo, mode);
  table.home.newest = true;
  return table;
}

records::ScopeSettings lock_settings(const records::RecordsTable &table) {
  records::ScopeSettings settings = records::scope_settings(table, cstring_to_text(kScope));
  settings.policy = {std::nullopt, false, true};
  return settings;
}

TimestampTz length_of(const Interval *interval, const char *what, bool allow_zero) {
  const TimestampTz now = GetCurrentTimestamp();
  return server::deadline(now, interval, what, server::Infinite::refused, allow_zero) - now;
}

const Interval *read_ttl(FunctionCallInfo fcinfo, int number) {
  const Interval *ttl = records::read_interval(fcinfo, number);
  if (ttl != nullptr) (void)length_of(ttl, "ttl", false);
  return ttl;
}

NumberedChoice free_locks(const records::RecordsTable &table, const NumberedLocks &among) {
  Datum values[] = {PointerGetDatum(among.pool), Int32GetDatum(among.first),
                    Int32GetDatum(among.last), BoolGetDatum(IsolationIsSerializable())};
  const MemoryContext caller = CurrentMemoryContext;
  SPI_connect();
  NumberedChoice choice = {};
  choice.count = server::run(free_statement, table.home, values, nullptr, false, 0);
  const MemoryContext connected = MemoryContextSwitchTo(caller);
  choice.locks = static_cast<NumberedLock *>(palloc(choice.count * sizeof(NumberedLock)));
  for (uint64 row = 0; row < choice.count; row++) choice.locks[row] = read_row(row);
  MemoryContextSwitchTo(connected);
  SPI_finish();
  return choice;
}

}  // namespace idem::locks
