#include "cleanup/expiry_index.hpp"

#include "server/compat.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

namespace {

// Dead ones included, of which an old snapshot may leave millions: a walk has to end some time.
constexpr int kMostEntries = 1000 * 1000;

int64 number_of(Oid type, Datum value) {
  return type == DATEOID ? DatumGetDateADT(value) : DatumGetTimestampTz(value);
}

Datum datum_of(Oid type, int64 number) {
  return type == DATEOID ? DateADTGetDatum(static_cast<DateADT>(number))
                         : TimestampTzGetDatum(number);
}

// A partial index serves if all it leaves out are nulls, which never expire.
bool holds_all_values(Relation index, AttrNumber column) {
  List *predicate = RelationGetIndexPredicate(index);
  if (predicate == NIL) return true;
  if (list_length(predicate) != 1 || !IsA(linitial(predicate), NullTest)) return false;
  const auto *test = static_cast<NullTest *>(linitial(predicate));
  return test->nulltesttype == IS_NOT_NULL && IsA(test->arg, Var) &&
         reinterpret_cast<Var *>(test->arg)->varattno == column;
}

bool serves(Relation index, AttrNumber column, Oid type) {
  const Form_pg_index form = index->rd_index;
  // Of several columns only the first would be in the order that a cursor needs.
  return index->rd_rel->relam == BTREE_AM_OID && form->indisvalid && form->indisready &&
         form->indislive && form->indnkeyatts == 1 && form->indkey.values[0] == column &&
         index->rd_opfamily[0] == get_opclass_family(GetDefaultOpClass(type, BTREE_AM_OID)) &&
         holds_all_values(index, column);
}

bool descends(Relation index) {
  return (index->rd_indoption[0] & INDOPTION_DESC) != 0;
}

struct Scan {
  Relation index;
  IndexScanDesc descriptor;
  TupleTableSlot *slot;
};

void add_key(ScanKeyData *key, Relation index, StrategyNumber strategy, Oid type, Datum value) {
  const Oid operation =
      get_opfamily_member(index->rd_opfamily[0], type, type, static_cast<int16>(strategy));
  ScanKeyInit(key, 1, strategy, get_opcode(operation), value);
}

Scan begin(Relation heap, Relation index, ScanKeyData *keys, int count) {
  Scan scan;
  scan.index = index;
  scan.descriptor = server::begin_index_scan(heap, scan.index, GetActiveSnapshot(), count);
  scan.slot = table_slot_create(heap, nullptr);
  // Before the start, when the index makes room for the entries.
  scan.descriptor->xs_want_itup = true;
  index_rescan(scan.descriptor, keys, count, nullptr, 0);
  return scan;
}

void end(const Scan &scan) {
  ExecDropSingleTupleTableSlot(scan.slot);
  index_endscan(scan.descriptor);
  index_close(scan.index, NoLock);
}

int64 value_at(const Scan &scan, Oid type) {
  bool isnull;
  const Datum value =
      index_getattr(scan.descriptor->xs_itup, 1, scan.descriptor->xs_itupdesc, &isnull);
  return number_of(type, value);
}

// Entries of one value stand in the order of their addresses, as long as the index is read
// forwards.
bool passed(const Cursor &cursor, int64 value, ItemPointer tid) {
  ItemPointerData last = cursor.tid;
  return cursor.started && value == cursor.value && ItemPointerCompare(tid, &last) <= 0;
}

}  // namespace

Oid expiry_type(Oid type) {
  const Oid base = getBaseType(type);
  return base == TIMESTAMPTZOID || base == TIMESTAMPOID || base == DATEOID ? base : InvalidOid;
}

Oid expiry_index(Relation heap, AttrNumber column) {
  const Oid type = expiry_type(TupleDescAttr(RelationGetDescr(heap), column - 1)->atttypid);
  Oid found = InvalidOid;
  List *indexes = RelationGetIndexList(heap);
  ListCell *cell;
  foreach (cell, indexes) {
    Relation index = index_open(lfirst_oid(cell), AccessShareLock);
    if (serves(index, column, type)) found = RelationGetRelid(index);
    index_close(index, AccessShareLock);
  }
  list_free(indexes);
  return found;
}

bool walk(Relation heap, Oid index, Oid type, Datum limit, Cursor *cursor, int most,
          void (*row)(TupleTableSlot *, void *), void *argument) {
  ScanKeyData keys[2];
  Relation opened = index_open(index, AccessShareLock);
  add_key(&keys[0], opened, BTLessEqualStrategyNumber, type, limit);
  if (cursor->started)
    add_key(&keys[1], opened,
            descends(opened) ? BTLessEqualStrategyNumber : BTGreaterEqualStrategyNumber, type,
            datum_of(type, cursor->value));

  const Scan scan = begin(heap, opened, keys, cursor->started ? 2 : 1);
  const Cursor from = *cursor;
  int rows = 0;
  int entries = 0;
  bool complete = true;
  for (ItemPointer tid;
       (tid = index_getnext_tid(scan.descriptor, ForwardScanDirection)) != nullptr;) {
    CHECK_FOR_INTERRUPTS();
    const int64 value = value_at(scan, type);
    if (passed(from, value, tid)) continue;
    complete = rows < most && entries++ < kMostEntries;
    if (!complete) break;
    *cursor = {true, value, *tid};
    if (!index_fetch_heap(scan.descriptor, scan.slot)) continue;
    row(scan.slot, argument);
    rows++;
  }
  end(scan);
  return complete;
}

bool is_up_to(Oid type, Datum value, Datum limit) {
  return number_of(type, value) <= number_of(type, limit);
}

bool smallest(Relation heap, Oid index, Oid type, Datum limit, bool expired, Datum *value) {
  ScanKeyData key;
  Relation opened = index_open(index, AccessShareLock);
  add_key(&key, opened, expired ? BTLessEqualStrategyNumber : BTGreaterStrategyNumber, type, limit);

  const Scan scan = begin(heap, opened, &key, 1);
  const ScanDirection ascending =
      descends(scan.index) ? BackwardScanDirection : ForwardScanDirection;
  bool found = false;
  while (!found && index_getnext_tid(scan.descriptor, ascending) != nullptr) {
    CHECK_FOR_INTERRUPTS();
    found = index_fetch_heap(scan.descriptor, scan.slot);
    if (found) *value = datum_of(type, value_at(scan, type));
  }
  end(scan);
  return found;
}

}  // namespace idem::cleanup
