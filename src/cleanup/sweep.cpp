#include "cleanup/sweep.hpp"

#include "cleanup/batch.hpp"
#include "cleanup/purge.hpp"
#include "cleanup/removal.hpp"
#include "cleanup/settings.hpp"
#include "server/compat.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

namespace {

constexpr int kBatchesPerChunk = 32;
// With a low rate or slow triggers a turn of so many batches would be a visit.
constexpr Micros kLongestTurn = kSecond;
constexpr int kMostRefusedRows = 10;

struct Batch {
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
  const int wanted = sweep.rule.batch > 0 ? sweep.rule.batch : settings.batch;
  return batch_size(sweep.cap > 0 ? Min(wanted, sweep.cap) : wanted, settings.rows_per_second);
}

// With a rate no more than it gives in a second.
int batches_of_turn(const Sweep &sweep) {
  if (settings.rows_per_second == 0) return kBatchesPerChunk;
  const int batches = Max(settings.rows_per_second / batch_rows(sweep), 1);
  return Min(batches, kBatchesPerChunk);
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

// The archive may be about to be dropped, with the schema or the extension.
bool lock_archive(const Rule &rule) {
  return !OidIsValid(rule.archive) || ConditionalLockRelationOid(rule.archive, RowExclusiveLock);
}

Opening open_for_batch(const Premises &premises, const Sweep &sweep, Rule *rule, Leaf *leaf) {
  const Opening opening = open_current(premises, sweep, LeafUse::expire_at_once, rule, leaf);
  if (opening != Opening::open) return opening;
  return lock_archive(*rule) ? opening : Opening::busy;
}

void run_batch(const Premises &premises, Batch &batch) {
  Rule rule;
  Leaf leaf;
  batch.opening = open_for_batch(premises, *batch.sweep, &rule, &leaf);
  if (batch.opening != Opening::open) return;
  make_constraints_immediate();
  batch.rows = expire(premises, leaf, batch.sweep->now, batch.tids, batch.count);
}

// Whether fewer rows would fail as well: somebody cancelled the batch, or the server has run out of
// something.
bool unrelated(const Mishap &mishap) {
  return (mishap.sqlstate == ERRCODE_QUERY_CANCELED && !mishap.timed_out) ||
         ERRCODE_TO_CATEGORY(mishap.sqlstate) == ERRCODE_INSUFFICIENT_RESOURCES;
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

// Ends the leaf's turn.
void fail(Sweep &sweep) {
  note_error(sweep);
  sweep.progress = Progress::failed;
}

void expire_rows(Visit &visit, Sweep &sweep, const ItemPointerData *tids, int count);

// Finds the rows that are to blame for an error, and leaves them behind.
void expire_in_halves(Visit &visit, Sweep &sweep, const ItemPointerData *tids, int count) {
  const bool refused = count == 1 && !unrelated(sweep.mishap);
  if (refused) sweep.refused_rows++;
  if (unrelated(sweep.mishap) || sweep.refused_rows - sweep.refused_before >= kMostRefusedRows) {
    fail(sweep);
  } else if (refused) {
    note_error(sweep);
  } else {
    if (sweep.mishap.timed_out) sweep.cap = count / 2;
    expire_rows(visit, sweep, tids, count / 2);
    expire_rows(visit, sweep, tids + count / 2, count - count / 2);
  }
}

void expire_rows(Visit &visit, Sweep &sweep, const ItemPointerData *tids, int count) {
  if (sweep.progress != Progress::under_way || over(visit)) return;
  const TimestampTz since = GetCurrentTimestamp();
  Batch batch = {&sweep, tids, count, Opening::busy, 0};
  Batch *argument = &batch;
  if (!transact(
          visit, [argument](const Premises &premises) { run_batch(premises, *argument); },
          &sweep.mishap)) {
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

struct Search {
  Sweep *sweep;
  Addresses *addresses;
  Opening opening;
};

void find_chunk(const Premises &premises, Search &search) {
  Rule rule;
  Leaf leaf;
  search.opening = open_current(premises, *search.sweep, LeafUse::look, &rule, &leaf);
  if (search.opening != Opening::open) return;
  pgstat_report_activity(STATE_RUNNING, psprintf("expire rows of %s", leaf.name));
  find_expired(leaf, search.sweep->now, &search.sweep->cursor, search.addresses);
}

void next_leaf(Sweep &sweep) {
  sweep.cursor = {};
  sweep.by_address = false;
  sweep.refused_before = sweep.refused_rows;
  if (++sweep.leaf < list_length(sweep.leaves)) return;
  sweep.leaf = 0;
  if (!sweep.resumed) sweep.progress = sweep.failed ? Progress::failed : Progress::finished;
  sweep.resumed = false;
}

// A leaf in which something is wrong does not hold up the others.
void leave_failed_leaf(Sweep &sweep) {
  if (sweep.refused_rows > sweep.refused_before)
    sweep.gave_up_at = {current_leaf(sweep), sweep.cursor};
  sweep.failed = true;
  sweep.progress = Progress::under_way;
  next_leaf(sweep);
}

// A locked leaf does not hold up the others.
void pass_over_locked(Sweep &sweep) {
  sweep.met_locked_leaf = true;
  sweep.progress = Progress::under_way;
  next_leaf(sweep);
}

// Rows go by SQL where their addresses mean nothing.
void purge_records(Visit &visit, Sweep &sweep) {
  const int limit = batch_rows(sweep);
  for (int i = 0; i < batches_of_turn(sweep) && !over(visit); i++) {
    const TimestampTz since = GetCurrentTimestamp();
    std::int64_t rows = 0;
    bool locked = true;
    const bool done = transact(
        visit,
        [&sweep, &rows, &locked, limit](const Premises &premises) {
          Rule rule;
          (void)hold_rule(premises, premises.records, &rule);
          locked = ConditionalLockRelationOid(rule.table, RowExclusiveLock) && lock_archive(rule);
          if (locked) rows = purge(premises, rule, sweep.now, limit);
        },
        &sweep.mishap);
    if (!done) return fail(sweep);
    if (!locked) return pass_over_locked(sweep);
    pgstat_report_stat(false);
    sweep.rows += rows;
    if (rows > 0) note(sweep, rows);
    if (rows < limit && visit.entry == Entry::open) sweep.progress = Progress::finished;
    if (sweep.progress != Progress::under_way) return;
    rest(visit, rows, since);
  }
}

struct Step {
  Sweep *sweep;
  int most;
  Cursor cursor;
  Opening opening;
  bool walked;
  Removed removed;
};

void run_step(const Premises &premises, Step &step) {
  Rule rule;
  Leaf leaf;
  step.opening = open_current(premises, *step.sweep, LeafUse::expire_at_once, &rule, &leaf);
  step.walked = step.opening == Opening::open && may_remove_directly(leaf);
  if (!step.walked) return;
  pgstat_report_activity(STATE_RUNNING, psprintf("expire rows of %s", leaf.name));
  step.removed = remove_next(leaf, step.sweep->now, &step.cursor, step.most);
}

// Draws the consequences of a step that was committed. Returns whether to take another.
bool take_step(Visit &visit, Sweep &sweep, const Step &step, TimestampTz since) {
  if (visit.entry != Entry::open) return false;
  if (step.opening == Opening::busy) {
    pass_over_locked(sweep);
  } else if (step.opening == Opening::gone) {
    next_leaf(sweep);
  } else if (!step.walked) {
    sweep.by_address = true;
  } else {
    // More rows of one value than a batch: finding the place among them would cost each batch more.
    sweep.by_address = sweep.cursor.started && step.cursor.value == sweep.cursor.value;
    sweep.cursor = step.cursor;
    sweep.rows += step.removed.rows;
    if (step.removed.rows > 0) note(sweep, step.removed.rows);
    if (step.removed.complete) next_leaf(sweep);
    rest(visit, step.removed.rows, since);
  }
  return sweep.progress == Progress::under_way && !sweep.by_address;
}

// Deletes along the index, where that can be done without the executor.
void walk_leaf(Visit &visit, Sweep &sweep) {
  const TimestampTz ends_at = GetCurrentTimestamp() + kLongestTurn;
  for (int i = 0; i < kBatchesPerChunk && !over(visit); i++) {
    const TimestampTz since = GetCurrentTimestamp();
    if (since >= ends_at) return;
    Step step = {&sweep, batch_rows(sweep), sweep.cursor, Opening::busy, false, {}};
    Step *argument = &step;
    if (!transact(
            visit, [argument](const Premises &premises) { run_step(premises, *argument); },
            &sweep.mishap))
      return fail(sweep);
    pgstat_report_stat(false);
    if (!take_step(visit, sweep, step, since)) return;
  }
}

void expire_chunk(Visit &visit, Sweep &sweep, Addresses &addresses) {
  Search search = {&sweep, &addresses, Opening::busy};
  Search *argument = &search;
  if (!transact(
          visit, [argument](const Premises &premises) { find_chunk(premises, *argument); },
          &sweep.mishap))
    return fail(sweep);
  if (visit.entry != Entry::open) return;
  const int batch = batch_rows(sweep);
  for (int i = 0; i < addresses.count; i += batch)
    expire_rows(visit, sweep, addresses.tids + i, Min(batch, addresses.count - i));
  if (search.opening == Opening::busy || sweep.progress == Progress::busy) {
    pass_over_locked(sweep);
  } else if (sweep.progress == Progress::under_way && !over(visit) &&
             (search.opening == Opening::gone || addresses.complete)) {
    next_leaf(sweep);
  }
}

void expire_by_address(Visit &visit, Sweep &sweep) {
  const MemoryContext caller = MemoryContextSwitchTo(visit.context);
  Addresses addresses = {};
  addresses.room = batch_rows(sweep) * batches_of_turn(sweep);
  addresses.tids = static_cast<ItemPointerData *>(palloc_extended(
      sizeof(ItemPointerData) * static_cast<Size>(addresses.room), MCXT_ALLOC_HUGE));
  expire_chunk(visit, sweep, addresses);
  pfree(addresses.tids);
  MemoryContextSwitchTo(caller);
}

}  // namespace

void take_turn(Visit &visit, Sweep &sweep) {
  if (sweep.leaves == NIL) {
    if (sweep.rule.records)
      purge_records(visit, sweep);
    else
      sweep.progress = Progress::finished;
    return;
  }
  if (sweep.by_address)
    expire_by_address(visit, sweep);
  else
    walk_leaf(visit, sweep);
  const bool last = sweep.leaf == 0 && sweep.failed;
  if (sweep.progress == Progress::failed && !last) leave_failed_leaf(sweep);
}

}  // namespace idem::cleanup
