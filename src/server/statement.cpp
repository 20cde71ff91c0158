#include "server/statement.hpp"

#include "server/prelude.hpp"

namespace idem::server {

namespace {

// Counts renames of schemas; plans of an older generation name a schema that may be gone.
uint64 generation = 1;

void on_schema_change(Datum, int, uint32) {
  generation++;
}

void watch_schemas() {
  static bool watching = false;
  if (watching) return;
  CacheRegisterSyscacheCallback(NAMESPACEOID, on_schema_change, Datum{0});
  watching = true;
}

char *qualified(const char *sql, const char *schema) {
  const char *prefix = quote_identifier(schema);
  StringInfoData text;
  initStringInfo(&text);
  for (const char *at = sql; *at != '\0'; at++) {
    if (*at == '@')
      appendStringInfo(&text, "%s.", prefix);
    else
      appendStringInfoChar(&text, *at);
  }
  return text.data;
}

// Other schemas come and go; the plan minds only if its own was renamed.
bool fits(Statement &statement, Oid schema) {
  if (statement.plan == nullptr || statement.schema != schema) return false;
  if (statement.generation == generation) return true;
  const uint64 checked_at = generation;
  const char *name = get_namespace_name(schema);
  if (name == nullptr || strcmp(name, NameStr(statement.schema_name)) != 0) return false;
  statement.generation = checked_at;
  return true;
}

void prepare(Statement &statement, Oid schema) {
  watch_schemas();
  if (fits(statement, schema)) return;
  // An outdated plan is left allocated: it may be running further up the stack, and its schema is
  // renamed rarely.
  statement.plan = nullptr;
  const uint64 made_at = generation;
  const char *name = get_namespace_name(schema);
  if (name == nullptr) elog(ERROR, "schema with OID %u does not exist", schema);
  SPIPlanPtr plan =
      SPI_prepare(qualified(statement.sql, name), statement.parameters, statement.types);
  if (plan == nullptr) elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
  if (SPI_keepplan(plan) != 0) elog(ERROR, "SPI_keepplan failed");
  namestrcpy(&statement.schema_name, name);
  statement.plan = plan;
  statement.schema = schema;
  statement.generation = made_at;
}

template <typename Call>
int with_rights_of(Oid owner, Call call) {
  Oid caller;
  int context;
  // An ERROR needs no undoing here: ending the (sub)transaction restores the user.
  GetUserIdAndSecContext(&caller, &context);
  SetUserIdAndSecContext(owner, context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_NOFORCE_RLS);
  const int code = call();
  SetUserIdAndSecContext(caller, context);
  return code;
}

}  // namespace

uint64 run(Statement &statement, const Home &home, Datum *values, const char *nulls, bool read_only,
           long limit) {
  const int code = with_rights_of(home.owner, [&] {
    prepare(statement, home.schema);
    if (home.newest && !read_only && IsolationUsesXactSnapshot())
      return SPI_execute_snapshot(statement.plan, values, nulls, GetLatestSnapshot(),
                                  InvalidSnapshot, false, true, limit);
    return SPI_execute_plan(statement.plan, values, nulls, read_only, limit);
  });
  if (code < 0) elog(ERROR, "SPI_execute_plan failed: %s", SPI_result_code_string(code));
  return SPI_processed;
}

uint64 execute(Statement &statement, const Home &home, Datum *values, const char *nulls) {
  SPI_connect();
  const uint64 rows = run(statement, home, values, nulls, false, 0);
  SPI_finish();
  return rows;
}

uint64 run_text(const Home &home, const char *sql) {
  const int code = with_rights_of(home.owner, [sql] {
    SPIPlanPtr plan = SPI_prepare(sql, 0, nullptr);
    if (plan == nullptr) return SPI_result;
    return SPI_execute_snapshot(plan, nullptr, nullptr, GetLatestSnapshot(), InvalidSnapshot, false,
                                true, 0);
  });
  if (code < 0) elog(ERROR, "\"%s\" failed: %s", sql, SPI_result_code_string(code));
  return SPI_processed;
}

void execute_text(const Home &home, const char *sql) {
  SPI_connect();
  (void)run_text(home, sql);
  SPI_finish();
}

void execute_for_caller(const char *sql) {
  SPI_connect();
  const int code = SPI_execute(sql, false, 0);
  if (code < 0) elog(ERROR, "\"%s\" failed: %s", sql, SPI_result_code_string(code));
  SPI_finish();
}

bool run_within(int limit_ms, bool (*call)(void *), void *argument) {
  const MemoryContext context = CurrentMemoryContext;
  const ResourceOwner owner = CurrentResourceOwner;
  const TimestampTz started = GetCurrentTimestamp();
  volatile bool done = false;
  char limit[16];
  snprintf(limit, sizeof(limit), "%d", limit_ms);

  BeginInternalSubTransaction(nullptr);
  MemoryContextSwitchTo(context);
  PG_TRY();
  {
    // GUC_ACTION_SAVE restores the caller's lock_timeout when the subtransaction ends, either way.
    if (limit_ms > 0)
      (void)set_config_option("lock_timeout", limit, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
                              true, 0, false);
    const bool keep = call(argument);
    // A timeout may have struck at the moment of the grant.
    CHECK_FOR_INTERRUPTS();
    if (keep)
      ReleaseCurrentSubTransaction();
    else
      RollbackAndReleaseCurrentSubTransaction();
    done = true;
  }
  PG_CATCH();
  {
    MemoryContextSwitchTo(context);
    ErrorData *error = CopyErrorData();
    FlushErrorState();
    RollbackAndReleaseCurrentSubTransaction();
    MemoryContextSwitchTo(context);
    CurrentResourceOwner = owner;
    // One that comes early is somebody else's, such as a trigger's NOWAIT.
    if (limit_ms == 0 || error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE ||
        !TimestampDifferenceExceeds(started, GetCurrentTimestamp(), limit_ms))
      ReThrowError(error);
    FreeErrorData(error);
  }
  PG_END_TRY();
  MemoryContextSwitchTo(context);
  CurrentResourceOwner = owner;
  return done;
}

bool run_until(TimestampTz deadline, bool heed_timeout, bool (*call)(void *), void *argument) {
  for (;;) {
    const int64 left = (deadline - GetCurrentTimestamp()) / 1000;
    if (left <= 0) return false;
    const int limit = static_cast<int>(Min(left, static_cast<int64>(INT_MAX)));
    if (heed_timeout && LockTimeout > 0 && LockTimeout <= limit) {
      (void)call(argument);
      return true;
    }
    if (run_within(limit, call, argument)) return true;
  }
}

}  // namespace idem::server
