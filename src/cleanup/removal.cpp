#include "cleanup/removal.hpp"

#include "server/owner.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

namespace {

struct Removal {
  const Leaf *leaf;
  Relation heap;
  TimestampTz now;
  Datum limit;
  AttrNumber status;  // of records
  AttrNumber lease;
  std::int64_t rows;
};

bool has_delete_triggers(Relation heap) {
  const TriggerDesc *triggers = heap->trigdesc;
  return triggers != nullptr &&
         (triggers->trig_delete_before_row || triggers->trig_delete_after_row ||
          triggers->trig_delete_before_statement || triggers->trig_delete_after_statement);
}

Removal begin(const Leaf &leaf, TimestampTz now) {
  Removal removal = {};
  removal.leaf = &leaf;
  removal.heap = table_open(leaf.relation, NoLock);
  removal.now = now;
  removal.limit = expired_up_to(*leaf.rule, leaf.type, now);
  removal.status = get_attnum(leaf.relation, "status");
  removal.lease = get_attnum(leaf.relation, "lease_expires_at");
  // As the executor does before the first row: a published table needs a replica identity.
  CheckCmdReplicaIdentity(removal.heap, CMD_DELETE);
  PushActiveSnapshot(GetTransactionSnapshot());
  return removal;
}

void end(const Removal &removal) {
  PopActiveSnapshot();
  table_close(removal.heap, NoLock);
}

bool has_live_claim(const Removal &removal, TupleTableSlot *slot) {
  bool isnull;
  const text *status = DatumGetTextPP(slot_getattr(slot, removal.status, &isnull));
  constexpr char kInProgress[] = "in_progress";
  constexpr Size kLength = sizeof(kInProgress) - 1;
  if (VARSIZE_ANY_EXHDR(status) != kLength ||
      memcmp(VARDATA_ANY(status), kInProgress, kLength) != 0)
    return false;
  return DatumGetTimestampTz(slot_getattr(slot, removal.lease, &isnull)) > removal.now;
}

bool is_expired(const Removal &removal, TupleTableSlot *slot) {
  bool isnull;
  const Datum value = slot_getattr(slot, removal.leaf->number, &isnull);
  if (isnull || !is_up_to(removal.leaf->type, value, removal.limit)) return false;
  return !removal.leaf->rule->records || !has_live_claim(removal, slot);
}

// What was checked is the newest version, or the deletion does nothing.
void remove_row(TupleTableSlot *slot, void *argument) {
  auto *removal = static_cast<Removal *>(argument);
  if (!is_expired(*removal, slot)) return;
  TM_FailureData failure;
  const TM_Result result =
      table_tuple_delete(removal->heap, &slot->tts_tid, GetCurrentCommandId(true),
                         GetActiveSnapshot(), InvalidSnapshot, false, &failure, false);
  if (result == TM_Ok) removal->rows++;
}

}  // namespace

bool may_remove_directly(const Leaf &leaf) {
  if (OidIsValid(leaf.rule->archive)) return false;
  if (pg_class_aclcheck(leaf.relation, leaf.owner, ACL_DELETE) != ACLCHECK_OK) return false;
  Relation heap = table_open(leaf.relation, NoLock);
  const bool simple = heap->rd_rel->relam == HEAP_TABLE_AM_OID && heap->rd_rules == nullptr &&
                      !has_delete_triggers(heap);
  table_close(heap, NoLock);
  return simple;
}

Removed remove_next(const Leaf &leaf, TimestampTz now, Cursor *cursor, int most) {
  Removed removed = {};
  Removed *result = &removed;
  server::as_owner(leaf.owner, [&leaf, now, cursor, most, result] {
    Removal removal = begin(leaf, now);
    result->complete = walk(removal.heap, leaf.index, leaf.type, removal.limit, cursor, most,
                            remove_row, &removal);
    result->rows = removal.rows;
    end(removal);
  });
  return removed;
}

std::int64_t remove_at(const Leaf &leaf, TimestampTz now, const ItemPointerData *tids, int count) {
  std::int64_t rows = 0;
  std::int64_t *result = &rows;
  server::as_owner(leaf.owner, [&leaf, now, tids, count, result] {
    Removal removal = begin(leaf, now);
    TupleTableSlot *slot = table_slot_create(removal.heap, nullptr);
    // The table may have become shorter since the addresses were read; now it will not.
    const BlockNumber blocks = RelationGetNumberOfBlocks(removal.heap);
    for (int i = 0; i < count; i++) {
      CHECK_FOR_INTERRUPTS();
      ItemPointerData tid = tids[i];
      if (ItemPointerGetBlockNumber(&tid) < blocks &&
          table_tuple_fetch_row_version(removal.heap, &tid, GetActiveSnapshot(), slot))
        remove_row(slot, &removal);
    }
    ExecDropSingleTupleTableSlot(slot);
    *result = removal.rows;
    end(removal);
  });
  return rows;
}

}  // namespace idem::cleanup
