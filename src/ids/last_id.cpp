#include "ids/last_id.hpp"

#include "server/compat.hpp"
#include "server/prelude.hpp"

namespace idem::ids {

namespace {

// At the end of every sequence's page.
constexpr uint32 kSequenceMagic = 0x1717;

// As in the server: last_value + log_cnt is how far the log goes, also for nextval. But a page can
// reach the log as a whole, with a log_cnt that is no longer true of it: where a database is copied
// by its log, a sequence is made logged, or wal_level = minimal puts off logging a new one. So the
// bits below the time, which are of no use in that sum, say at which place in the log it was
// written; it counts only on a page of that place.
Id place_in_log(XLogRecPtr place) {
  return static_cast<Id>((place ^ place >> kTimeShift) & kBelowTime);
}

Id marked_bound(Id bound, XLogRecPtr place) {
  return (bound & ~kBelowTime) | place_in_log(place);
}

bool logged_beyond(const LastId &last, Id id) {
  const auto *state = last.state;
  const XLogRecPtr place = PageGetLSN(BufferGetPage(last.buffer));
  int64 bound;
  if (state->log_cnt <= 0 || pg_add_s64_overflow(state->last_value, state->log_cnt, &bound))
    return false;
  // What was logged before the last checkpoint began is not replayed.
  return id <= bound && (bound & kBelowTime) == place_in_log(place) && place > GetRedoRecPtr();
}

// Logs the sequence as if all ids up to the bound had been given.
XLogRecPtr log_bound(LastId &last, Id bound) {
  xl_seq_rec record = server::sequence_log_record(last.relation);
  last.state->last_value = bound;
  last.state->is_called = true;
  last.state->log_cnt = 0;
  XLogBeginInsert();
  XLogRegisterBuffer(0, last.buffer, REGBUF_WILL_INIT);
  XLogRegisterData(reinterpret_cast<char *>(&record), sizeof(record));
  XLogRegisterData(reinterpret_cast<char *>(last.tuple.t_data), last.tuple.t_len);
  const XLogRecPtr end = XLogInsert(RM_SEQ_ID, XLOG_SEQ_LOG);
  PageSetLSN(BufferGetPage(last.buffer), end);
  return end;
}

void set_state(LastId &last, Id id, int64 logged_ahead) {
  last.state->last_value = id;
  last.state->is_called = true;
  last.state->log_cnt = logged_ahead;
}

// The log that protects an id may be another session's, and not on disk yet. A transaction that
// writes waits for it; one that hands the id to a client and writes nothing would not, so it writes
// a record that says nothing.
void wait_for_log_at_commit(XLogRecPtr place) {
  if (synchronous_commit == SYNCHRONOUS_COMMIT_OFF) return;
  if (TransactionIdIsValid(GetTopTransactionIdIfAny()) && XactLastRecEnd != InvalidXLogRecPtr)
    return;
  if (!XLogNeedsFlush(place)) return;
  GetTopTransactionId();
  char nothing[] = {0};
  XLogBeginInsert();
  XLogRegisterData(nothing, sizeof(nothing));
  XLogInsert(RM_XLOG_ID, XLOG_NOOP);
}

}  // namespace

LastId lock_last_id(Relation relation) {
  LastId last = {relation, ReadBuffer(relation, 0), {}, nullptr};
  LockBuffer(last.buffer, BUFFER_LOCK_EXCLUSIVE);
  Page page = BufferGetPage(last.buffer);
  if (*reinterpret_cast<uint32 *>(PageGetSpecialPointer(page)) != kSequenceMagic)
    elog(ERROR, "bad magic number in sequence \"%s\"", RelationGetRelationName(relation));
  ItemId item = PageGetItemId(page, FirstOffsetNumber);
  last.tuple.t_data = reinterpret_cast<HeapTupleHeader>(PageGetItem(page, item));
  last.tuple.t_len = ItemIdGetLength(item);
  last.state = reinterpret_cast<FormData_pg_sequence_data *>(GETSTRUCT(&last.tuple));
  return last;
}

void move_last_id(LastId &last, Id id) {
  // Before the look at the last checkpoint: one that begins after it will write this page, and
  // waits for it to be unlocked.
  MarkBufferDirty(last.buffer);
  const bool needs_log = RelationNeedsWAL(last.relation);
  const bool logs = needs_log && !logged_beyond(last, id);
  const Id bound = logs ? bound_after(id, kLoggedAhead)
                        : last.state->last_value + (needs_log ? last.state->log_cnt : 0);
  // With a number, the transaction's commit waits for the log and for standbys. Before the critical
  // section, because this may fail.
  if (logs) GetTopTransactionId();

  START_CRIT_SECTION();
  if (logs)
    set_state(last, id, Max(marked_bound(bound, log_bound(last, bound)) - id, 0));
  else
    set_state(last, id, needs_log ? bound - id : 0);
  END_CRIT_SECTION();
}

void unlock_last_id(const LastId &last) {
  const XLogRecPtr place = PageGetLSN(BufferGetPage(last.buffer));
  UnlockReleaseBuffer(last.buffer);
  if (RelationNeedsWAL(last.relation)) wait_for_log_at_commit(place);
}

}  // namespace idem::ids
