#include "cleanup/visit.hpp"

#include "cleanup/settings.hpp"
#include "server/compat.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

namespace {

constexpr Micros kMilli = kSecond / 1000;
constexpr Micros kLongestRest = kSecond;
// A trigger that hangs must not stop the tables after its own.
constexpr int kLongestBatch = 30 * 1000;  // ms
// A trigger can catch the error that ends a batch, but not the end of the process.
constexpr int kLastResort = 40 * 1000;  // ms

void end_process() {
  InterruptPending = 1;
  ProcDiePending = 1;
  SetLatch(MyLatch);
}

void start_alarms() {
  static bool registered = false;
  static TimeoutId last_resort;
  if (!registered) last_resort = RegisterTimeout(USER_TIMEOUT, end_process);
  registered = true;
  enable_timeout_after(STATEMENT_TIMEOUT, kLongestBatch);
  enable_timeout_after(last_resort, kLastResort);
}

void stop_alarms() {
  disable_all_timeouts(false);
  // One may have gone off when all was over; the next transaction is not meant.
  QueryCancelPending = 0;
}

// The detail of a violated constraint is all that names the row; where there is a remedy, it says
// more.
void keep(const ErrorData *error, Mishap *mishap) {
  mishap->sqlstate = error->sqlerrcode;
  const char *more = error->hint != nullptr ? error->hint : error->detail;
  mishap->problem.keep(more == nullptr ? error->message
                                       : psprintf("%s (%s)", error->message, more));
  keep_text(mishap->context, error->context == nullptr ? "" : error->context);
}

}  // namespace

bool over(Visit &visit) {
  // Nothing runs that could be cancelled, and it would end the process.
  QueryCancelPending = 0;
  CHECK_FOR_INTERRUPTS();
  if (ConfigReloadPending) {
    ConfigReloadPending = false;
    ProcessConfigFile(PGC_SIGHUP);
  }
  DatabaseEntry entry;
  if (!read_database(MyDatabaseId, &entry)) return true;
  const TimestampTz now = GetCurrentTimestamp();
  return visit.entry != Entry::open || !settings.enabled || now >= visit.ends_at ||
         now >= entry.stop_at;
}

bool transact(void (*call)(void *), void *argument, Mishap *mishap) {
  const MemoryContext context = CurrentMemoryContext;
  const TimestampTz since = GetCurrentTimestamp();
  volatile bool done = false;
  PG_TRY();
  {
    SetCurrentStatementStartTimestamp();
    StartTransactionCommand();
    start_alarms();
    PushActiveSnapshot(GetTransactionSnapshot());
    call(argument);
    PopActiveSnapshot();
    stop_alarms();
    CommitTransactionCommand();
    done = true;
  }
  PG_CATCH();
  {
    MemoryContextSwitchTo(context);
    ErrorData *error = CopyErrorData();
    FlushErrorState();
    stop_alarms();
    AbortCurrentTransaction();
    keep(error, mishap);
    mishap->timed_out = error->sqlerrcode == ERRCODE_QUERY_CANCELED &&
                        GetCurrentTimestamp() - since >= kLongestBatch * kMilli;
    FreeErrorData(error);
  }
  PG_END_TRY();
  MemoryContextSwitchTo(context);
  if (done) server::deliver_notifications();
  return done;
}

void rest(Visit &visit, std::int64_t rows, TimestampTz since) {
  const TimestampTz until =
      since + Min(rest_after(rows, 0, settings.rows_per_second), kLongestRest);
  pgstat_report_activity(STATE_IDLE, nullptr);
  for (TimestampTz now; (now = GetCurrentTimestamp()) < until && !over(visit);) {
    (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
                    static_cast<long>((until - now) / 1000) + 1, PG_WAIT_EXTENSION);
    ResetLatch(MyLatch);
  }
}

}  // namespace idem::cleanup
