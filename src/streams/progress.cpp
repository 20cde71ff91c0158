#include "streams/progress.hpp"

#include "server/prelude.hpp"
#include "streams/limits.hpp"
#include "streams/refusal.hpp"
#include "streams/store.hpp"

namespace idem::streams {

namespace {

constexpr NullableDatum kNull = {0, true};

// A producer that this transaction has written, so that nobody else can.
struct Progress {
  Oid function;  // the extension's that was called
  std::int64_t id;
  const text *stream;
  SubTransactionId subtransaction;  // in which it got there
  Policy policy;
  ProducerState state;
  Batch *batches;  // the last ones, oldest first
  int count;
  int room;
  int unwritten;    // how many were accepted in memory only
  bool prolonged;   // in memory only
  bool stale;       // the row knows better
  Progress *outer;  // where it stood before this subtransaction
};

struct Slot {
  std::int64_t id;
  Progress *top;
};

HTAB *slots = nullptr;
MemoryContext memory = nullptr;  // of all this, and of one transaction
// No progress belongs to a later one: most subtransactions end without having touched any.
SubTransactionId newest = InvalidSubTransactionId;

Slot *slot_of(std::int64_t id, HASHACTION action) {
  if (slots == nullptr) return nullptr;
  return static_cast<Slot *>(hash_search(slots, &id, action, nullptr));
}

// First a list, because what is done to them may take slots away.
List *all_slots() {
  List *found = NIL;
  if (slots == nullptr) return found;
  HASH_SEQ_STATUS scan;
  hash_seq_init(&scan, slots);
  for (void *slot; (slot = hash_seq_search(&scan)) != nullptr;) found = lappend(found, slot);
  return found;
}

void begin_memory() {
  if (slots != nullptr) return;
  memory = AllocSetContextCreate(TopTransactionContext, "pg_idem progress", ALLOCSET_SMALL_SIZES);
  HASHCTL control = {};
  control.keysize = sizeof(std::int64_t);
  control.entrysize = sizeof(Slot);
  control.hcxt = memory;
  slots = hash_create("pg_idem progress", 16, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

void set_top(Slot *slot, Progress *top) {
  slot->top = top;
  if (top == nullptr) (void)slot_of(slot->id, HASH_REMOVE);
}

void dispose(Progress *progress) {
  pfree(progress->batches);
  pfree(const_cast<text *>(progress->stream));
  pfree(progress);
}

const text *copy_text(const text *value) {
  return reinterpret_cast<text *>(datumCopy(PointerGetDatum(value), false, -1));
}

// In the memory of the transaction.
Progress *copy_of(const Progress &original) {
  const MemoryContext caller = MemoryContextSwitchTo(memory);
  auto *copy = static_cast<Progress *>(palloc(sizeof(Progress)));
  *copy = original;
  copy->stream = copy_text(original.stream);
  copy->room = Max(2 * original.policy.remember, original.count) + 16;
  copy->batches = static_cast<Batch *>(palloc(sizeof(Batch) * static_cast<Size>(copy->room)));
  memcpy(copy->batches, original.batches, sizeof(Batch) * static_cast<Size>(original.count));
  MemoryContextSwitchTo(caller);
  return copy;
}

// The progress as this subtransaction may change it.
Progress *own(Slot *slot) {
  const SubTransactionId here = GetCurrentSubTransactionId();
  if (slot->top->subtransaction == here) return slot->top;
  Progress *copy = copy_of(*slot->top);
  copy->subtransaction = here;
  newest = Max(newest, here);
  copy->outer = slot->top;
  slot->top = copy;
  return copy;
}

void advance(Progress &progress, std::int64_t seq) {
  const int remember = progress.policy.remember;
  progress.state.last_seq = seq;
  progress.unwritten = Min(progress.unwritten, kMostRemembered) + 1;
  if (remember <= 0) {
    progress.count = 0;
    return;
  }
  if (progress.count == progress.room) {
    memmove(progress.batches, progress.batches + (progress.count - remember),
            sizeof(Batch) * static_cast<Size>(remember));
    progress.count = remember;
  }
  progress.batches[progress.count++] = {seq, seq};
}

// As the row is to be.
void bring_up_to_date(Producer &producer, const Progress &progress) {
  const Batch last = {progress.state.last_seq, progress.state.last_seq};
  const int missing = Min(Min(progress.unwritten, progress.policy.remember), progress.count);
  if (missing > 0)
    append_plain(producer, progress.batches + (progress.count - missing), missing, progress.policy);
  else if (progress.unwritten > 0)
    append_plain(producer, &last, 1, progress.policy);
  producer.state.expires_at = Max(producer.state.expires_at, progress.state.expires_at);
}

void write(const StreamTables &tables, Progress *progress) {
  consult(tables, progress->stream, progress->id, [progress](Producer *producer, bool) {
    // Somebody who may do so has removed it in this very transaction; without its row, nothing that
    // was accepted would be known.
    if (producer == nullptr) refuse_unknown(progress->stream, progress->id);
    bring_up_to_date(*producer, *progress);
    return Ruling::write;
  });
  progress->unwritten = 0;
  progress->prolonged = false;
}

// From here on the row is asked. An outer subtransaction finds its own state again if this one is
// rolled back.
void let_go(Slot *slot) {
  Progress *top = slot->top;
  top->stale = true;
  if (top->outer != nullptr) return;
  set_top(slot, nullptr);
  dispose(top);
}

StreamTables tables_next_to(Oid called) {
  FmgrInfo function = {};
  function.fn_oid = called;
  LOCAL_FCINFO(call, 0);
  InitFunctionCallInfoData(*call, &function, 0, InvalidOid, nullptr, nullptr);
  return stream_tables(call, RowExclusiveLock);
}

// What was accepted by an extension that was dropped meanwhile is known nowhere any more.
void conclude(Slot *slot) {
  if (slot->top->stale) return;
  Progress *progress = own(slot);
  const bool is_there = SearchSysCacheExists1(PROCOID, ObjectIdGetDatum(progress->function));
  if (is_there && (progress->unwritten > 0 || progress->prolonged))
    write(tables_next_to(progress->function), progress);
  let_go(slot);
}

void write_the_rest() {
  if (slots == nullptr || hash_get_num_entries(slots) == 0) return;
  // What was accepted while it was allowed is written though SET TRANSACTION READ ONLY came after;
  // an ERROR here aborts the transaction, which resets it.
  const bool read_only = XactReadOnly;
  XactReadOnly = false;
  PushActiveSnapshot(GetTransactionSnapshot());
  write_progress();
  PopActiveSnapshot();
  XactReadOnly = read_only;
}

void on_transaction_event(XactEvent event, void *) {
  switch (event) {
    case XACT_EVENT_PRE_COMMIT:
    case XACT_EVENT_PRE_PREPARE:
      // Nobody told the end of the statement, as in a partition that was made later.
      write_the_rest();
      break;
    case XACT_EVENT_COMMIT:
    case XACT_EVENT_ABORT:
    case XACT_EVENT_PREPARE:
      slots = nullptr;
      memory = nullptr;
      newest = InvalidSubTransactionId;
      break;
    default:
      break;
  }
}

void roll_back(Slot *slot, SubTransactionId own_id) {
  Progress *top = slot->top;
  while (top != nullptr && top->subtransaction == own_id) {
    Progress *outer = top->outer;
    dispose(top);
    top = outer;
  }
  set_top(slot, top);
}

void hand_over(Slot *slot, SubTransactionId own_id, SubTransactionId parent) {
  Progress *top = slot->top;
  if (top->subtransaction != own_id) return;
  top->subtransaction = parent;
  Progress *former = top->outer;
  if (former == nullptr || former->subtransaction != parent) return;
  top->outer = former->outer;
  dispose(former);
  if (top->stale) let_go(slot);
}

void on_subtransaction_event(SubXactEvent event, SubTransactionId own_id, SubTransactionId parent,
                             void *) {
  if (event != SUBXACT_EVENT_ABORT_SUB && event != SUBXACT_EVENT_COMMIT_SUB) return;
  if (own_id > newest) return;
  List *all = all_slots();
  ListCell *cell;
  foreach (cell, all) {
    auto *slot = static_cast<Slot *>(lfirst(cell));
    if (event == SUBXACT_EVENT_ABORT_SUB)
      roll_back(slot, own_id);
    else
      hand_over(slot, own_id, parent);
  }
  newest = Min(newest, parent);
  list_free(all);
}

void watch_transactions() {
  static bool watching = false;
  if (watching) return;
  RegisterXactCallback(on_transaction_event, nullptr);
  RegisterSubXactCallback(on_subtransaction_event, nullptr);
  watching = true;
}

bool same_text(const text *one, const text *other) {
  const Size size = VARSIZE_ANY_EXHDR(one);
  return size == VARSIZE_ANY_EXHDR(other) &&
         memcmp(VARDATA_ANY(one), VARDATA_ANY(other), size) == 0;
}

bool same_policy(const Policy &one, const Policy &other) {
  return one.mode == other.mode && one.remember == other.remember &&
         one.refuse_too_old == other.refuse_too_old;
}

Slot *known_slot(Oid function, const Call &call) {
  Slot *slot = slot_of(call.producer_id, HASH_FIND);
  if (slot == nullptr || slot->top->stale || !same_text(slot->top->stream, call.stream))
    return nullptr;
  // The extension may have been created again, with ids that were given out before, and what was
  // accepted under other settings is remembered by those.
  if (slot->top->function == function && same_policy(slot->top->policy, call.settings.policy))
    return slot;
  conclude(slot);
  return nullptr;
}

// What was accepted and written by the row itself, from here on in memory.
void remember(const Progress &progress) {
  begin_memory();
  Progress *top = copy_of(progress);
  newest = Max(newest, top->subtransaction);
  Slot *slot = slot_of(progress.id, HASH_FIND);
  if (slot == nullptr) {
    slot = slot_of(progress.id, HASH_ENTER);
    slot->top = nullptr;
  }
  Progress *former = slot->top;
  slot->top = top;
  top->outer = former;
  if (former == nullptr || former->subtransaction != top->subtransaction) return;
  top->outer = former->outer;
  dispose(former);
}

// One row's message, on its way through the judge.
struct First {
  Oid function;
  const Call *call;
  Request request;
  bool accepted;
  Progress progress;
};

Ruling accept(First &first, Producer &producer) {
  const Call &call = *first.call;
  append(producer, {first.request.first, first.request.last}, kNull, kNull, call.settings.policy);
  const Recent &recent = producer.window.recent;
  // It must outlive the judge's view of the row.
  const Size size = sizeof(Batch) * static_cast<Size>(recent.count);
  auto *batches = static_cast<Batch *>(palloc(Max(size, sizeof(Batch))));
  if (size > 0) memcpy(batches, recent.batches, size);
  first.accepted = true;
  first.progress = {first.function,
                    producer.id,
                    call.stream,
                    GetCurrentSubTransactionId(),
                    call.settings.policy,
                    producer.state,
                    batches,
                    recent.count,
                    recent.count,
                    0,
                    false,
                    false,
                    nullptr};
  return Ruling::write;
}

Ruling judge(First &first, Producer *producer, bool settled) {
  const Call &call = *first.call;
  first.accepted = false;
  if (producer == nullptr) refuse_unknown(call.stream, call.producer_id);
  const Policy &policy = call.settings.policy;
  const Verdict verdict =
      decide_accept(producer->state, producer->window.recent, policy, first.request, call.now);
  if (verdict.step != Step::accept && verdict.step != Step::duplicate) {
    if (!settled && !is_final(verdict.step)) return Ruling::settle;
    refuse(verdict.step, *producer, policy, first.request, verdict.first_new);
  }
  const bool prolonged = prolong(producer->state, call);
  if (verdict.step == Step::accept) return accept(first, *producer);
  return prolonged ? Ruling::write : Ruling::leave;
}

bool accept_by_row(Oid function, const Call &call, std::int64_t seq) {
  First first = {function, &call, {call.epoch, seq, seq}, false, {}};
  consult(call.tables, call.stream, call.producer_id,
          [&first](Producer *producer, bool settled) { return judge(first, producer, settled); });
  if (first.accepted) remember(first.progress);
  return first.accepted;
}

// A repeated message is a use as well.
void prolong(Slot *slot, const Call &call) {
  ProducerState state = slot->top->state;
  if (!prolong(state, call)) return;
  Progress *progress = own(slot);
  progress->state = state;
  progress->prolonged = true;
}

bool accept_in_memory(Slot *slot, const Call &call, std::int64_t seq) {
  const Progress &known = *slot->top;
  const Policy &policy = call.settings.policy;
  const Request request = {call.epoch, seq, seq};
  const Recent recent = {known.batches, known.count};
  const Verdict verdict = decide_accept(known.state, recent, policy, request, call.now);
  if (verdict.step != Step::accept && verdict.step != Step::duplicate)
    refuse(verdict.step, {known.id, known.state, {recent, nullptr, nullptr}}, policy, request,
           verdict.first_new);
  prolong(slot, call);
  if (verdict.step == Step::duplicate) return false;
  advance(*own(slot), seq);
  return true;
}

}  // namespace

bool accept_number(Oid function, const Call &call, std::int64_t seq) {
  watch_transactions();
  Slot *slot = known_slot(function, call);
  return slot != nullptr ? accept_in_memory(slot, call, seq) : accept_by_row(function, call, seq);
}

void write_progress() {
  List *all = all_slots();
  if (all == NIL) return;
  // What one row takes to be written is not kept until all are.
  MemoryContext one =
      AllocSetContextCreate(CurrentMemoryContext, "pg_idem producer", ALLOCSET_DEFAULT_SIZES);
  const MemoryContext caller = MemoryContextSwitchTo(one);
  ListCell *cell;
  foreach (cell, all) {
    conclude(static_cast<Slot *>(lfirst(cell)));
    MemoryContextReset(one);
  }
  MemoryContextSwitchTo(caller);
  MemoryContextDelete(one);
  list_free(all);
}

}  // namespace idem::streams
