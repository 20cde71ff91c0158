#include "machines/changes.hpp"

#include "machines/history_months.hpp"
#include "server/prelude.hpp"

namespace idem::machines {

namespace {

constexpr const char *kChanges = "idem_changes";
constexpr int kColumns = 12;

server::Statement write_statement = {
    "INSERT INTO @idem_history (id, at, attachment, key, key_hash, machine, machine_version, "
    "from_state,"
    " to_state, event, event_id, data, xid, role, application_name)"
    " SELECT id, at, attachment, key, key_hash, machine, machine_version, from_state, to_state, "
    "event, "
    "event_id,"
    " data, $1, $2, $3 FROM idem_changes",
    3,
    {XID8OID, NAMEOID, TEXTOID}};

// Changes made in one subtransaction by one role.
struct Collected {
  SubTransactionId subtransaction;
  Oid role;
  const char *application;
  server::Home home;
  TimestampTz first;  // when they were made
  TimestampTz last;
  TupleDesc descriptor;
  Tuplestorestate *rows;
  MemoryContext context;  // of all this
  Collected *outer;
};
Collected *collected = nullptr;

TupleDesc describe_changes() {
  constexpr struct {
    const char *name;
    Oid type;
  } kDescription[kColumns] = {{"id", INT8OID},
                              {"at", TIMESTAMPTZOID},
                              {"attachment", TEXTOID},
                              {"key", JSONBOID},
                              {"key_hash", INT8OID},
                              {"machine", TEXTOID},
                              {"machine_version", INT4OID},
                              {"from_state", TEXTOID},
                              {"to_state", TEXTOID},
                              {"event", TEXTOID},
                              {"event_id", TEXTOID},
                              {"data", JSONBOID}};
  TupleDesc descriptor = CreateTemplateTupleDesc(kColumns);
  for (int i = 0; i < kColumns; i++)
    TupleDescInitEntry(descriptor, static_cast<AttrNumber>(i + 1), kDescription[i].name,
                       kDescription[i].type, -1, 0);
  return descriptor;
}

void write_the_rest() {
  if (collected == nullptr) return;
  PushActiveSnapshot(GetTransactionSnapshot());
  write_changes();
  PopActiveSnapshot();
}

void on_transaction_event(XactEvent event, void *) {
  switch (event) {
    case XACT_EVENT_PRE_COMMIT:
    case XACT_EVENT_PARALLEL_PRE_COMMIT:
    case XACT_EVENT_PRE_PREPARE:
      // Nobody told the end of the statement, such as when changes are replicated.
      write_the_rest();
      break;
    case XACT_EVENT_COMMIT:
    case XACT_EVENT_PARALLEL_COMMIT:
    case XACT_EVENT_ABORT:
    case XACT_EVENT_PARALLEL_ABORT:
    case XACT_EVENT_PREPARE:
      collected = nullptr;
      break;
  }
}

void dispose(Collected &one) {
  tuplestore_end(one.rows);
  MemoryContextDelete(one.context);
}

void on_subtransaction_event(SubXactEvent event, SubTransactionId own, SubTransactionId parent,
                             void *) {
  if (event == SUBXACT_EVENT_ABORT_SUB) {
    while (collected != nullptr && collected->subtransaction == own) {
      Collected *aborted = collected;
      collected = aborted->outer;
      dispose(*aborted);
    }
  } else if (event == SUBXACT_EVENT_COMMIT_SUB) {
    for (Collected *one = collected; one != nullptr && one->subtransaction == own; one = one->outer)
      one->subtransaction = parent;
  }
}

void watch_transactions() {
  static bool watching = false;
  if (watching) return;
  RegisterXactCallback(on_transaction_event, nullptr);
  RegisterSubXactCallback(on_subtransaction_event, nullptr);
  watching = true;
}

// Files that it may need live as long as its memory, whichever query comes to an end first.
Tuplestorestate *begin_rows() {
  const ResourceOwner caller = CurrentResourceOwner;
  CurrentResourceOwner = TopTransactionResourceOwner;
  Tuplestorestate *rows = tuplestore_begin_heap(false, false, work_mem);
  CurrentResourceOwner = caller;
  return rows;
}

Collected *collected_here(const server::Home &home) {
  const SubTransactionId here = GetCurrentSubTransactionId();
  if (collected != nullptr && collected->subtransaction == here && collected->role == GetUserId() &&
      collected->home.schema == home.schema &&
      strcmp(collected->application, application_name) == 0)
    return collected;
  watch_transactions();
  MemoryContext context =
      AllocSetContextCreate(TopTransactionContext, "pg_idem history", ALLOCSET_SMALL_SIZES);
  const MemoryContext caller = MemoryContextSwitchTo(context);
  auto *one = static_cast<Collected *>(palloc0(sizeof(Collected)));
  one->subtransaction = here;
  one->role = GetUserId();
  one->application = pstrdup(application_name);
  one->home = home;
  one->first = GetCurrentTimestamp();
  one->descriptor = describe_changes();
  one->rows = begin_rows();
  one->context = context;
  one->outer = collected;
  MemoryContextSwitchTo(caller);
  collected = one;
  return one;
}

NullableDatum text_or_null(const char *value) {
  if (value == nullptr) return {Datum{0}, true};
  return {CStringGetTextDatum(value), false};
}

template <typename Value>
NullableDatum pointer_or_null(const Value *value) {
  return {PointerGetDatum(value), value == nullptr};
}

// Where they go must be known before they are on their way. It was made with the attachment, but may
// not have come along with a table that was restored.
void prepare_places(const Collected &one) {
  server::provide_default_partition(kHistory, one.home);
  server::await_month(kHistory, one.home, one.first);
  server::await_month(kHistory, one.home, one.last);
}

void write(Collected &one) {
  prepare_places(one);
  EphemeralNamedRelationData relation = {};
  relation.md.name = const_cast<char *>(kChanges);
  relation.md.tupdesc = one.descriptor;
  relation.md.enrtype = ENR_NAMED_TUPLESTORE;
  relation.md.enrtuples = static_cast<double>(tuplestore_tuple_count(one.rows));
  relation.reldata = one.rows;
  NameData role;
  namestrcpy(&role, GetUserNameFromId(one.role, false));
  Datum values[] = {FullTransactionIdGetDatum(GetTopFullTransactionId()), NameGetDatum(&role),
                    CStringGetTextDatum(one.application)};
  SPI_connect();
  if (SPI_register_relation(&relation) != SPI_OK_REL_REGISTER)
    elog(ERROR, "SPI_register_relation failed");
  (void)server::run(write_statement, one.home, values, nullptr, false, 0);
  SPI_finish();
  dispose(one);
}

// The oldest first.
void write_in_order(Collected *last, Collected *end) {
  if (last == end) return;
  write_in_order(last->outer, end);
  write(*last);
}

}  // namespace

const Firing *firing = nullptr;

bool is_fired(const Attachment &attachment, Oid table, ItemPointer row) {
  return firing != nullptr && firing->table == table &&
         strcmp(firing->attachment, attachment.label) == 0 &&
         ItemPointerEquals(const_cast<ItemPointer>(&firing->row), row);
}

void collect(const Change &change) {
  Collected *into = collected_here(change.attachment->place.home);
  into->last = GetCurrentTimestamp();
  const Firing *fired = change.fired;
  const NullableDatum row[kColumns] = {
      {Int64GetDatum(nextval_internal(change.attachment->place.history_ids, false)), false},
      {TimestampTzGetDatum(into->last), false},
      text_or_null(change.attachment->label),
      {JsonbPGetDatum(change.key.json), false},
      {Int64GetDatum(change.key.hash), false},
      text_or_null(change.edition->name),
      {Int32GetDatum(change.edition->version), false},
      text_or_null(change.from),
      text_or_null(change.to),
      text_or_null(fired != nullptr ? fired->event : nullptr),
      pointer_or_null(fired != nullptr ? fired->event_id : nullptr),
      pointer_or_null(fired != nullptr ? fired->data : nullptr)};
  Datum values[kColumns];
  bool nulls[kColumns];
  for (int i = 0; i < kColumns; i++) {
    values[i] = row[i].value;
    nulls[i] = row[i].isnull;
  }
  tuplestore_putvalues(into->rows, into->descriptor, values, nulls);
}

void write_changes() {
  if (collected == nullptr) return;
  const SubTransactionId here = GetCurrentSubTransactionId();
  Collected *const last = collected;
  Collected *end = last;
  while (end != nullptr && end->subtransaction == here) end = end->outer;
  // Taken off first: what an error leaves behind goes with the subtransaction.
  collected = end;
  write_in_order(last, end);
}

}  // namespace idem::machines
