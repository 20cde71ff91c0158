#include "machines/changes.hpp"

#include "machines/history_months.hpp"
#include "machines/history_writer.hpp"
#include "server/prelude.hpp"

namespace idem::machines {

namespace {

constexpr const char *kChanges = "idem_changes";
// In the order of idem_history.
constexpr struct {
  const char *name;
  Oid type;
  bool required;
} kColumns[] = {{"id", INT8OID, true},
                {"at", TIMESTAMPTZOID, true},
                {"attachment", TEXTOID, true},
                {"key", JSONBOID, true},
                {"key_hash", INT8OID, true},
                {"machine", TEXTOID, true},
                {"machine_version", INT4OID, true},
                {"from_state", TEXTOID, false},
                {"to_state", TEXTOID, false},
                {"event", TEXTOID, false},
                {"event_id", TEXTOID, false},
                {"data", JSONBOID, false},
                {"xid", XID8OID, true},
                {"role", TEXTOID, true},
                {"application_name", TEXTOID, false}};

#define COLUMNS                                                                               \
  "id, at, attachment, key, key_hash, machine, machine_version, from_state, to_state, event," \
  " event_id, data, xid, role, application_name"

server::Statement write_statement = {
    "INSERT INTO @idem_history (" COLUMNS ") SELECT " COLUMNS " FROM idem_changes", 0, {}};

#undef COLUMNS

// Changes made in one subtransaction by one role.
struct Collected {
  SubTransactionId subtransaction;
  Oid role;
  const char *application;
  Datum role_name;  // text, as is the next
  Datum application_name;
  server::Home home;
  TimestampTz first;  // the earliest and the latest of them
  TimestampTz last;
  Tuplestorestate *rows;
  MemoryContext context;  // of all this
  bool taken;             // being written; if that fails, it goes with the subtransaction
  Collected *outer;
};
Collected *collected = nullptr;

// Once for the session.
TupleDesc description_of_changes() {
  static TupleDesc description = nullptr;
  if (description != nullptr) return description;
  const MemoryContext caller = MemoryContextSwitchTo(CacheMemoryContext);
  TupleDesc made = CreateTemplateTupleDesc(lengthof(kColumns));
  for (int i = 0; i < static_cast<int>(lengthof(kColumns)); i++) {
    TupleDescInitEntry(made, static_cast<AttrNumber>(i + 1), kColumns[i].name, kColumns[i].type, -1,
                       0);
    TupleDescAttr(made, i)->attnotnull = kColumns[i].required;
  }
  MemoryContextSwitchTo(caller);
  description = made;
  return description;
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
  if (collected != nullptr && !collected->taken && collected->subtransaction == here &&
      collected->role == GetUserId() && collected->home.schema == home.schema &&
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
  one->role_name = CStringGetTextDatum(GetUserNameFromId(one->role, false));
  one->application_name = CStringGetTextDatum(one->application);
  one->home = home;
  one->first = DT_NOEND;
  one->last = DT_NOBEGIN;
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

// Where they go must be known before they are on their way. It was made with the attachment, but
// may not have come along with a table that was restored.
void prepare_places(const Collected &one) {
  if (!OidIsValid(server::partition_for(kHistory, one.home, one.first)))
    server::provide_default_partition(kHistory, one.home);
  server::await_month(kHistory, one.home, one.first);
  if (one.last != one.first) server::await_month(kHistory, one.home, one.last);
}

void write_by_sql(const Collected &one) {
  EphemeralNamedRelationData relation = {};
  relation.md.name = const_cast<char *>(kChanges);
  relation.md.tupdesc = description_of_changes();
  relation.md.enrtype = ENR_NAMED_TUPLESTORE;
  relation.md.enrtuples = static_cast<double>(tuplestore_tuple_count(one.rows));
  relation.reldata = one.rows;
  SPI_connect();
  if (SPI_register_relation(&relation) != SPI_OK_REL_REGISTER)
    elog(ERROR, "SPI_register_relation failed");
  (void)server::run(write_statement, one.home, nullptr, nullptr, false, 0);
  SPI_finish();
}

void write(const Collected &one) {
  prepare_places(one);
  if (!write_directly({one.home, one.rows, description_of_changes(), one.first, one.last}))
    write_by_sql(one);
}

// Those of this subtransaction, the oldest first.
List *take_collected() {
  const SubTransactionId here = GetCurrentSubTransactionId();
  List *batch = NIL;
  for (Collected *one = collected; one != nullptr && one->subtransaction == here;
       one = one->outer) {
    if (!one->taken) batch = lcons(one, batch);
    one->taken = true;
  }
  return batch;
}

void unlink(Collected *one) {
  Collected **place = &collected;
  while (*place != one) place = &(*place)->outer;
  *place = one->outer;
}

}  // namespace

const Firing *firing = nullptr;

bool is_fired(const Attachment &attachment, Oid table, ItemPointer row) {
  return firing != nullptr && firing->table == table &&
         strcmp(firing->attachment, attachment.label) == 0 &&
         ItemPointerEquals(const_cast<ItemPointer>(&firing->row), row);
}

void refuse_without_key(Relation relation) {
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("table \"%s\" has no primary key, by which the history could name its "
                         "rows",
                         RelationGetRelationName(relation)),
                  errhint("Add a primary key, or attach the machine without history.")));
  pg_unreachable();
}

void collect(const Change &change) {
  Collected *into = collected_here(change.attachment->place.home);
  const Firing *fired = change.fired;
  const TimestampTz now = GetCurrentTimestamp();
  into->first = Min(into->first, now);
  into->last = Max(into->last, now);
  const NullableDatum row[] = {
      {Int64GetDatum(nextval_internal(change.attachment->place.history_ids, false)), false},
      {TimestampTzGetDatum(now), false},
      text_or_null(change.attachment->label),
      {JsonbPGetDatum(change.key.json), false},
      {Int64GetDatum(change.key.hash), false},
      text_or_null(change.edition->name),
      {Int32GetDatum(change.edition->version), false},
      text_or_null(change.from),
      text_or_null(change.to),
      text_or_null(fired != nullptr ? fired->event : nullptr),
      pointer_or_null(fired != nullptr ? fired->event_id : nullptr),
      pointer_or_null(fired != nullptr ? fired->data : nullptr),
      {FullTransactionIdGetDatum(GetTopFullTransactionId()), false},
      {into->role_name, false},
      {into->application_name, false}};
  static_assert(lengthof(row) == lengthof(kColumns));
  Datum values[lengthof(row)];
  bool nulls[lengthof(row)];
  for (std::size_t i = 0; i < lengthof(row); i++) {
    values[i] = row[i].value;
    nulls[i] = row[i].isnull;
  }
  tuplestore_putvalues(into->rows, description_of_changes(), values, nulls);
}

void write_changes() {
  if (collected == nullptr) return;
  List *batch = take_collected();
  ListCell *cell;
  foreach (cell, batch) {
    auto *one = static_cast<Collected *>(lfirst(cell));
    write(*one);
    unlink(one);
    dispose(*one);
  }
  list_free(batch);
}

}  // namespace idem::machines
