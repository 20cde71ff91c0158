#include "streams/direct.hpp"

#include "server/prelude.hpp"
#include "server/row_access.hpp"
#include "streams/refusal.hpp"

namespace idem::streams {

namespace {

// Where a producer was met last: a session works for few of them, and many updates of one row in
// one transaction leave entries in the index that each look would go through. Hints only: whoever
// uses one looks whether the row there is the one.
struct Hint {
  Oid table;
  std::int64_t id;
  ItemPointerData root;
  ItemPointerData newest;  // the version that this session wrote last
  std::uint32_t uses;
};

// Looks by the newest version before one by the root, which clears away what they left behind.
constexpr std::uint32_t kLooksAtNewest = 8;

constexpr std::uint64_t kHints = 256;
Hint hints[kHints];

Hint &hint_for(std::int64_t id) {
  return hints[static_cast<std::uint64_t>(id) % kHints];
}

// One row, and what is known of it.
struct Row {
  server::Place place;
  const StreamTables *tables;
  const text *stream;
  std::int64_t id;
};

Datum value_in(const Row &row, Column column) {
  bool isnull;
  return slot_getattr(row.place.slot, row.tables->columns[static_cast<int>(column)], &isnull);
}

bool is_wanted(const Row &row) {
  return DatumGetInt64(value_in(row, Column::producer_id)) == row.id;
}

bool is_of_stream(const Row &row) {
  const text *found = DatumGetTextPP(value_in(row, Column::stream));
  const Size length = VARSIZE_ANY_EXHDR(row.stream);
  return VARSIZE_ANY_EXHDR(found) == length &&
         memcmp(VARDATA_ANY(found), VARDATA_ANY(row.stream), length) == 0;
}

server::Key key_of(const Row &row) {
  server::Key key;
  key.index = row.tables->primary_key;
  key.count = 1;
  ScanKeyInit(&key.columns[0], 1, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(row.id));
  return key;
}

bool find_by_hint(const Row &row, Hint &hint) {
  if (hint.table != row.tables->producers || hint.id != row.id) return false;
  if (ItemPointerIsValid(&hint.newest) && ++hint.uses % kLooksAtNewest != 0 &&
      server::find_version(row.place, hint.newest) && is_wanted(row))
    return true;
  return server::find_by_root(row.place, hint.root) && is_wanted(row);
}

void take_hint(const Row &row, const ItemPointerData &root) {
  Hint &hint = hint_for(row.id);
  hint = {row.tables->producers, row.id, root, {}, 0};
  ItemPointerSetInvalid(&hint.newest);
}

bool find(const Row &row) {
  if (find_by_hint(row, hint_for(row.id))) return true;
  ItemPointerData root;
  bool entries = false;
  const server::Met met = server::find_by_index(row.place, key_of(row), &root, &entries);
  if (met == server::Met::row) take_hint(row, root);
  return met == server::Met::row || (entries && server::find_committed(row.place, key_of(row)));
}

bool written_here(const Row &row) {
  bool isnull;
  const Datum xmin = slot_getsysattr(row.place.slot, MinTransactionIdAttributeNumber, &isnull);
  return TransactionIdIsCurrentTransactionId(DatumGetTransactionId(xmin));
}

// Leaves the newest version of the row in the slot.
bool look(const Row &row) {
  if (!find(row) || !is_of_stream(row)) return false;
  if (IsolationUsesXactSnapshot() && !written_here(row) &&
      !server::in_transaction_snapshot(row.place))
    refuse_changed();
  return true;
}

// Whether it was done; if not, the row has changed since it was looked at.
bool done(TM_Result result) {
  if (result == TM_Ok) return true;
  if (result != TM_Updated && result != TM_Deleted)
    elog(ERROR, "unexpected result %d of changing a producer", result);
  if (IsolationUsesXactSnapshot()) refuse_changed();
  return false;
}

Producer read(const Row &row) {
  Datum values[kColumns];
  bool nulls[kColumns];
  slot_getallattrs(row.place.slot);
  for (int i = 0; i < kColumns; i++) {
    values[i] = row.place.slot->tts_values[row.tables->columns[i] - 1];
    nulls[i] = row.place.slot->tts_isnull[row.tables->columns[i] - 1];
  }
  return read_producer(values, nulls);
}

bool write(const Row &row, const Producer &producer) {
  Datum values[kColumns];
  bool nulls[kColumns];
  Datum row_values[kTableColumns];
  bool row_nulls[kTableColumns];
  const AttrNumber *columns = row.tables->columns;
  memcpy(row_values, row.place.slot->tts_values, sizeof(row_values));
  memcpy(row_nulls, row.place.slot->tts_isnull, sizeof(row_nulls));
  for (int i = 0; i < kColumns; i++) {
    values[i] = row_values[columns[i] - 1];
    nulls[i] = row_nulls[columns[i] - 1];
  }
  write_producer(producer, values, nulls);
  for (int i = 0; i < kColumns; i++) {
    row_values[columns[i] - 1] = values[i];
    row_nulls[columns[i] - 1] = nulls[i];
  }
  server::Written written;
  const TM_Result result =
      server::update_row(row.place, row.place.slot->tts_tid, row_values, row_nulls, true, &written);
  if (!done(result)) return false;
  if (written.own_entries) take_hint(row, written.tid);
  Hint &hint = hint_for(row.id);
  if (hint.id == row.id && hint.table == row.tables->producers) hint.newest = written.tid;
  return true;
}

// Whether the matter is settled; if not, the row changed in between.
bool attempt(const Row &row, Judge judge, void *argument) {
  if (!look(row)) {
    (void)judge(nullptr, true, argument);
    return true;
  }
  Producer producer = read(row);
  Ruling ruling = judge(&producer, false, argument);
  if (ruling == Ruling::settle) {
    if (!done(server::lock_row(row.place, LockTupleNoKeyExclusive, true, 0))) return false;
    producer = read(row);
    ruling = judge(&producer, true, argument);
  }
  return ruling == Ruling::leave || write(row, producer);
}

}  // namespace

void consult_directly(const StreamTables &tables, const text *stream, std::int64_t id, Judge judge,
                      void *argument) {
  const Row row = {server::open_place(tables.producers), &tables, stream, id};
  while (!attempt(row, judge, argument)) CHECK_FOR_INTERRUPTS();
  server::close_place(row.place);
}

}  // namespace idem::streams
