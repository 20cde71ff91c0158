#include "cleanup/sweep.hpp"

#include "cleanup/archive.hpp"
#include "cleanup/batch.hpp"
#include "cleanup/settings.hpp"
#include "server/compat.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

namespace {

constexpr int kBatchesPerChunk = 32;
constexpr int kMostRefusedRows = 10;
constexpr Micros kLongestRest = kSecond;
// A trigger that hangs must not stop the tables after its own.
constexpr int kLongestBatch = 30 * 1000;  // ms

struct Batch {
  Visit *visit;
  Sweep *sweep;
  const ItemPointerData *tids;
  int count;
  Opening opening;
  std::int64_t rows;
};

Oid current_leaf(const Sweep &sweep) {
  return list_nth_oid(sweep.leaves, sweep.leaf);
}

int batch_rows(const Sweep &sweep) {
  return batch_size(sweep.rule.batch > 0 ? sweep.rule.batch : settings.batch,
                    settings.rows_per_second);
}

// Deferred triggers would run at commit, when the rights of the table's owner are left behind.
void make_constraints_immediate() {
  ConstraintsSetStmt *statement = makeNode(ConstraintsSetStmt);
  statement->constraints = NIL;
  statement->deferred = false;
  AfterTriggerSetState(statement);
}

// Opens the leaf under way by the rule as it is now.
Opening open_current(const Premises &premises, const Sweep &sweep, LeafUse use, Rule *rule,
                     Leaf *leaf) {
  if (!hold_rule(premises, sweep.rule.table, rule)) return Opening::gone;
  return open_leaf(*rule, current_leaf(sweep), use, leaf);
}

void run_batch(Batch &batch) {
  Premises premises;
  batch.rows = 0;
  batch.opening = Opening::busy;
  batch.visit->entry = enter(&premises);
  if (batch.visit->entry != Entry::open) return;
  Rule rule;
  Leaf leaf;
  batch.opening = open_current(premises, *batch.sweep, LeafUse::expire_at_once, &rule, &leaf);
  if (batch.opening != Opening::open) return;
  make_constraints_immediate();
  batch.rows = expire(premises, leaf, batch.sweep->now, batch.tids, batch.count);
}

// Whether the error lies with the moment and not with a row.
bool passing(const Mishap &mishap) {
  switch (mishap.sqlstate) {
    case ERRCODE_QUERY_CANCELED:
    case ERRCODE_LOCK_NOT_AVAILABLE:
    case ERRCODE_T_R_DEADLOCK_DETECTED:
    case ERRCODE_T_R_SERIALIZATION_FAILURE:
      return true;
    default:
      return ERRCODE_TO_CATEGORY(mishap.sqlstate) == ERRCODE_INSUFFICIENT_RESOURCES;
  }
}

void note(const Sweep &sweep, std::int64_t rows) {
  (void)with_table(MyDatabaseId, sweep.rule.table, [rows](TableEntry &entry) {
    entry.rows += rows;
    entry.batches++;
  });
}

void note_error(const Sweep &sweep) {
  const Problem problem = sweep.mishap.problem;
  (void)with_table(MyDatabaseId, sweep.rule.table, [&problem](TableEntry &entry) {
    entry.errors++;
    entry.problem = problem;
  });
}

void fail(Sweep &sweep) {
  note_error(sweep);
  sweep.progress = Progress::failed;
}

// Sleeps off what a batch deleted faster than the rate. No transaction is open. A batch holds no more
// than a second's worth, unless the rate was lowered since; either way DROP DATABASE and the like
// do not wait longer than that for us to look up.
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

void expire_rows(Visit &visit, Sweep &sweep, const ItemPointerData *tids, int count);

// Finds the rows that are to blame for an error, and leaves them behind.
void expire_in_halves(Visit &visit, Sweep &sweep, const ItemPointerData *tids, int count) {
  if (passing(sweep.mishap)) {
    fail(sweep);
  } else if (count > 1) {
    expire_rows(visit, sweep, tids, count / 2);
    expire_rows(visit, sweep, tids + count / 2, count - count / 2);
  } else if (++sweep.refused_rows >= kMostRefusedRows) {
    fail(sweep);
  } else {
    note_error(sweep);
  }
}

void expire_rows(Visit &visit, Sweep &sweep, const ItemPointerData *tids, int count) {
  if (sweep.progress != Progress::under_way || over(visit)) return;
  const TimestampTz since = GetCurrentTimestamp();
  Batch batch = {&visit, &sweep, tids, count, Opening::busy, 0};
  Batch *argument = &batch;
  if (!transact([argument] { run_batch(*argument); }, &sweep.mishap)) {
    expire_in_halves(visit, sweep, tids, count);
    return;
  }
  pgstat_report_stat(false);
  if (visit.entry != Entry::open) return;
  if (batch.opening == Opening::busy) sweep.progress = Progress::busy;
  if (batch.opening != Opening::open) return;
  sweep.rows += batch.rows;
  note(sweep, batch.rows);
  rest(visit, batch.rows, since);
}

// Rows go by SQL where their addresses mean nothing.
void purge_records(Visit &visit, Sweep &sweep) {
  const int limit = batch_rows(sweep);
  std::int64_t rows = 0;
  for (int i = 0; i < kBatchesPerChunk && !over(visit); i++) {
    const TimestampTz since = GetCurrentTimestamp();
    const bool done = transact(
        [&visit, &sweep, &rows, limit] {
          Premises premises;
          rows = 0;
          visit.entry = enter(&premises);
          if (visit.entry == Entry::open) rows = purge(premises, sweep.now, limit);
        },
        &sweep.mishap);
    if (!done) return fail(sweep);
    pgstat_report_stat(false);
    sweep.rows += rows;
    if (rows > 0) note(sweep, rows);
    if (rows < limit && visit.entry == Entry::open) sweep.progress = Progress::finished;
    if (sweep.progress != Progress::under_way) return;
    rest(visit, rows, since);
  }
}

struct Search {
  Visit *visit;
  Sweep *sweep;
  Addresses *addresses;
  Opening opening;
};

void find_chunk(Search &search) {
  Premises premises;
  search.opening = Opening::busy;
  search.visit->entry = enter(&premises);
  if (search.visit->entry != Entry::open) return;
  Rule rule;
  Leaf leaf;
  search.opening = open_current(premises, *search.sweep, LeafUse::look, &rule, &leaf);
  if (search.opening != Opening::open) return;
  pgstat_report_activity(STATE_RUNNING, psprintf("expire rows of %s", leaf.name));
  find_expired(leaf, search.sweep->now, &search.sweep->cursor, search.addresses);
}

void next_leaf(Sweep &sweep) {
  sweep.cursor = {};
  if (++sweep.leaf < list_length(sweep.leaves)) return;
  sweep.leaf = 0;
  if (!sweep.resumed) sweep.progress = Progress::finished;
  sweep.resumed = false;
}

void expire_chunk(Visit &visit, Sweep &sweep, Addresses &addresses) {
  Search search = {&visit, &sweep, &addresses, Opening::busy};
  Search *argument = &search;
  if (!transact([argument] { find_chunk(*argument); }, &sweep.mishap)) return fail(sweep);
  if (visit.entry != Entry::open) return;
  const int batch = batch_rows(sweep);
  for (int i = 0; i < addresses.count; i += batch)
    expire_rows(visit, sweep, addresses.tids + i, Min(batch, addresses.count - i));
  // A locked leaf does not hold up the others.
  if (search.opening == Opening::busy || sweep.progress == Progress::busy) {
    sweep.met_locked_leaf = true;
    sweep.progress = Progress::under_way;
    next_leaf(sweep);
  } else if (sweep.progress == Progress::under_way && !over(visit) &&
             (search.opening == Opening::gone || addresses.complete)) {
    next_leaf(sweep);
  }
}

// Earliest expiry of what is left, over all leaves; false when there is none.
bool find_next_expiry(Visit &visit, Sweep &sweep, TimestampTz *earliest) {
  bool known = false;
  bool *some = &known;
  ListCell *cell;
  foreach (cell, sweep.leaves) {
    const Oid relation = lfirst_oid(cell);
    const bool done = transact(
        [&visit, &sweep, relation, some, earliest] {
          Premises premises;
          Leaf leaf;
          TimestampTz at;
          visit.entry = enter(&premises);
          if (visit.entry != Entry::open) return;
          if (open_leaf(sweep.rule, relation, LeafUse::look, &leaf) != Opening::open) return;
          if (!next_expiry(leaf, sweep.now, &at)) return;
          *earliest = *some ? Min(*earliest, at) : at;
          *some = true;
        },
        &sweep.mishap);
    if (!done) break;
  }
  return known;
}

void log_failure(const Sweep &sweep, const char *name, TimestampTz next) {
  ereport(WARNING,
          (errcode(sweep.mishap.sqlstate),
           errmsg("cleanup of table %s failed: %s", name, sweep.mishap.problem.message),
           sweep.progress == Progress::failed
               ? errdetail("It is tried again at %s, and then after longer and longer delays"
                           " without another message.",
                           timestamptz_to_str(next))
               : errdetail("Expired rows left behind: %d. Other rows go, and these are tried again"
                           " with each visit without another message.",
                           sweep.refused_rows),
           errhint("The view idem_stat_cleanup of this database shows how it goes on.")));
}

const char *name_of(Oid table) {
  const char *name = nullptr;
  const char **result = &name;
  const MemoryContext caller = CurrentMemoryContext;
  Mishap ignored;
  (void)transact(
      [table, result, caller] {
        const char *relation = get_rel_name(table);
        if (relation == nullptr) return;
        *result = MemoryContextStrdup(
            caller,
            quote_qualified_identifier(get_namespace_name(get_rel_namespace(table)), relation));
      },
      &ignored);
  return name != nullptr ? name : psprintf("%u", table);
}

// Rows that refuse to go must not be met first again, or ten of them would keep all others waiting.
ResumePoint resume_point(const Sweep &sweep) {
  if (sweep.progress != Progress::failed || sweep.refused_rows < kMostRefusedRows) return {};
  return {current_leaf(sweep), sweep.cursor};
}

TimestampTz conclude_failure(Sweep &sweep, TimestampTz now) {
  int failures = 0;
  int *count = &failures;
  TimestampTz next = now;
  TimestampTz *turn = &next;
  const bool stuck = sweep.rows == 0 && sweep.progress == Progress::failed;
  const ResumePoint resume = resume_point(sweep);
  (void)with_table(MyDatabaseId, sweep.rule.table, [=](TableEntry &entry) {
    *count = ++entry.failures;
    entry.finished_at = now;
    entry.resume = resume;
    entry.next_turn = *turn = now + (stuck ? back_off(entry.failures, naptime()) : naptime());
  });
  if (failures == 1) log_failure(sweep, name_of(sweep.rule.table), next);
  return next;
}

void conclude_success(const Sweep &sweep, TimestampTz now, TimestampTz next) {
  int failures = 0;
  int *count = &failures;
  (void)with_table(MyDatabaseId, sweep.rule.table, [=](TableEntry &entry) {
    *count = entry.failures;
    entry.failures = 0;
    entry.finished_at = entry.last_success_at = now;
    entry.next_turn = next;
  });
  if (failures > 0)
    ereport(LOG, (errmsg("cleanup of table %s works again after %d failures",
                         name_of(sweep.rule.table), failures)));
}

}  // namespace

bool over(Visit &visit) {
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
  volatile bool done = false;
  PG_TRY();
  {
    SetCurrentStatementStartTimestamp();
    StartTransactionCommand();
    enable_timeout_after(STATEMENT_TIMEOUT, kLongestBatch);
    PushActiveSnapshot(GetTransactionSnapshot());
    call(argument);
    PopActiveSnapshot();
    disable_timeout(STATEMENT_TIMEOUT, false);
    CommitTransactionCommand();
    done = true;
  }
  PG_CATCH();
  {
    MemoryContextSwitchTo(context);
    ErrorData *error = CopyErrorData();
    FlushErrorState();
    disable_timeout(STATEMENT_TIMEOUT, false);
    AbortCurrentTransaction();
    mishap->sqlstate = error->sqlerrcode;
    mishap->problem.keep(error->message);
    FreeErrorData(error);
  }
  PG_END_TRY();
  MemoryContextSwitchTo(context);
  if (done) server::deliver_notifications();
  return done;
}

void take_turn(Visit &visit, Sweep &sweep) {
  if (sweep.leaves == NIL) return purge_records(visit, sweep);
  const MemoryContext caller = MemoryContextSwitchTo(visit.context);
  Addresses addresses = {};
  addresses.room = batch_rows(sweep) * kBatchesPerChunk;
  addresses.tids = static_cast<ItemPointerData *>(palloc_extended(
      sizeof(ItemPointerData) * static_cast<Size>(addresses.room), MCXT_ALLOC_HUGE));
  expire_chunk(visit, sweep, addresses);
  pfree(addresses.tids);
  MemoryContextSwitchTo(caller);
}

TimestampTz conclude(Visit &visit, Sweep &sweep) {
  const TimestampTz now = GetCurrentTimestamp();
  if (sweep.progress == Progress::failed) return conclude_failure(sweep, now);
  if (sweep.refused_rows > 0) return conclude_failure(sweep, now);
  if (sweep.progress == Progress::under_way || sweep.met_locked_leaf) {
    const TimestampTz next = sweep.progress == Progress::under_way ? now : now + naptime();
    if (sweep.rows > 0) conclude_success(sweep, now, next);
    return next;
  }
  TimestampTz earliest;
  std::optional<Micros> next;
  if (find_next_expiry(visit, sweep, &earliest)) next = earliest;
  const TimestampTz turn = next_visit(now, naptime(), next);
  conclude_success(sweep, now, turn);
  return turn;
}

}  // namespace idem::cleanup
