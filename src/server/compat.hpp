// Every difference between PostgreSQL 13 and 18 that our code meets, and nothing else. A block goes
// when the last release that needs it is dropped.

#pragma once

#include "server/prelude.hpp"

namespace idem::server {

// 18 added an instrumentation argument to index_beginscan.
inline IndexScanDesc begin_index_scan(Relation heap, Relation index, Snapshot snapshot, int keys) {
#if PG_VERSION_NUM >= 180000
  return index_beginscan(heap, index, snapshot, nullptr, keys, 0);
#else
  return index_beginscan(heap, index, snapshot, keys, 0);
#endif
}

// 18 knows constraints NOT NULL that are NOT VALID, with which rows may still hold null.
inline bool may_be_null(TupleDesc descriptor, AttrNumber column) {
#if PG_VERSION_NUM >= 180000
  return TupleDescCompactAttr(descriptor, column - 1)->attnullability != ATTNULLABLE_VALID;
#else
  return !TupleDescAttr(descriptor, column - 1)->attnotnull;
#endif
}

// 15 renamed the parser hook that infers parameter types.
inline void infer_parameter_types(ParseState *state, Oid **types, int *count) {
#if PG_VERSION_NUM >= 150000
  setup_parse_variable_parameters(state, types, count);
#else
  parse_variable_parameters(state, types, count);
#endif
}

// 15 wants shared memory requested from a hook; before, from _PG_init itself.
#if PG_VERSION_NUM >= 150000
inline Size requested_shared_memory = 0;
inline shmem_request_hook_type previous_shmem_request = nullptr;

inline void on_shared_memory_request() {
  if (previous_shmem_request != nullptr) previous_shmem_request();
  RequestAddinShmemSpace(requested_shared_memory);
}
#endif

inline void request_shared_memory(Size size) {
#if PG_VERSION_NUM >= 150000
  if (requested_shared_memory == 0) {
    previous_shmem_request = shmem_request_hook;
    shmem_request_hook = on_shared_memory_request;
  }
  requested_shared_memory += size;
#else
  RequestAddinShmemSpace(size);
#endif
}

// 15 wants named locks requested from the same hook. Room for the names of all that ask.
#if PG_VERSION_NUM >= 150000
inline const char *requested_locks[4] = {};
inline shmem_request_hook_type previous_lock_request = nullptr;

inline void on_lock_request() {
  if (previous_lock_request != nullptr) previous_lock_request();
  for (const char *tranche : requested_locks)
    if (tranche != nullptr) RequestNamedLWLockTranche(tranche, 1);
}
#endif

inline void request_lock(const char *tranche) {
#if PG_VERSION_NUM >= 150000
  if (requested_locks[0] == nullptr) {
    previous_lock_request = shmem_request_hook;
    shmem_request_hook = on_lock_request;
  }
  for (const char *&place : requested_locks) {
    if (place != nullptr) continue;
    place = tranche;
    return;
  }
  elog(ERROR, "too many named locks are requested");
#else
  RequestNamedLWLockTranche(tranche, 1);
#endif
}

// 14 can detach a partition in two steps; after the first it no longer counts.
inline bool counts_as_child(Form_pg_inherits form) {
#if PG_VERSION_NUM >= 140000
  return !form->inhdetachpending;
#else
  (void)form;
  return true;
#endif
}

// 14 names the resource owner of a plan in use instead of saying whether there is one. A plan that
// was not saved has none.
inline void release_unsaved_plan(CachedPlan *plan) {
#if PG_VERSION_NUM >= 140000
  ReleaseCachedPlan(plan, nullptr);
#else
  ReleaseCachedPlan(plan, false);
#endif
}

// Up to 14 whoever commits outside a client's session tells the listeners itself.
inline void deliver_notifications() {
#if PG_VERSION_NUM < 150000
  ProcessCompletedNotifies();
#endif
}

// 17 lets a worker act for a role that may not log in.
inline constexpr bool kWorkersNeedLogin = PG_VERSION_NUM < 170000;
inline uint32 worker_connection_flags() {
#if PG_VERSION_NUM >= 170000
  return BGWORKER_BYPASS_ROLELOGINCHECK;
#else
  return 0;
#endif
}

// 16 replaced the checks for each kind of object by one for all.
inline bool may_execute(Oid role, Oid function) {
#if PG_VERSION_NUM >= 160000
  return object_aclcheck(ProcedureRelationId, function, role, ACL_EXECUTE) == ACLCHECK_OK;
#else
  return pg_proc_aclcheck(function, role, ACL_EXECUTE) == ACLCHECK_OK;
#endif
}

inline bool owns_table(Oid role, Oid table) {
#if PG_VERSION_NUM >= 160000
  return object_ownercheck(RelationRelationId, table, role);
#else
  return pg_class_ownercheck(table, role);
#endif
}

// 14 moved the result relation from the executor state into an argument, 16 taught updates to
// maintain summarising indexes alone, 18 added the tuple's own address.
inline bool no_index_conflict(ResultRelInfo *relation, TupleTableSlot *slot, EState *state,
                              List *arbiters) {
  ItemPointerData conflict;
#if PG_VERSION_NUM >= 180000
  ItemPointerData none;
  ItemPointerSetInvalid(&none);
  return ExecCheckIndexConstraints(relation, slot, state, &conflict, &none, arbiters);
#elif PG_VERSION_NUM >= 140000
  return ExecCheckIndexConstraints(relation, slot, state, &conflict, arbiters);
#else
  state->es_result_relation_info = relation;
  return ExecCheckIndexConstraints(slot, state, &conflict, arbiters);
#endif
}

inline void insert_index_entries(ResultRelInfo *relation, TupleTableSlot *slot, EState *state,
                                 bool *conflict, List *arbiters, bool summarizing_only) {
  const bool speculative = conflict != nullptr;
#if PG_VERSION_NUM >= 160000
  (void)ExecInsertIndexTuples(relation, slot, state, false, speculative, conflict, arbiters,
                              summarizing_only);
#elif PG_VERSION_NUM >= 140000
  (void)summarizing_only;
  (void)ExecInsertIndexTuples(relation, slot, state, false, speculative, conflict, arbiters);
#else
  (void)summarizing_only;
  state->es_result_relation_info = relation;
  (void)ExecInsertIndexTuples(slot, state, speculative, conflict, arbiters);
#endif
}

enum class IndexWork { none, summarizing, all };

// 16 turned the answer from a boolean into an enumeration.
inline TM_Result update_tuple(Relation heap, ItemPointer tid, TupleTableSlot *slot, bool wait,
                              IndexWork *work) {
  TM_FailureData failure;
  LockTupleMode mode;
#if PG_VERSION_NUM >= 160000
  TU_UpdateIndexes indexes;
#else
  bool indexes;
#endif
  const TM_Result result =
      table_tuple_update(heap, tid, slot, GetCurrentCommandId(true), InvalidSnapshot,
                         InvalidSnapshot, wait, &failure, &mode, &indexes);
  if (result != TM_Ok) return result;
#if PG_VERSION_NUM >= 160000
  *work = indexes == TU_None          ? IndexWork::none
          : indexes == TU_Summarizing ? IndexWork::summarizing
                                      : IndexWork::all;
#else
  *work = indexes ? IndexWork::all : IndexWork::none;
#endif
  return result;
}

// 17 introduced infinite intervals.
enum class IntervalRange { finite, plus_infinity, minus_infinity };

inline IntervalRange interval_range(const Interval *interval) {
#if PG_VERSION_NUM >= 170000
  if (INTERVAL_IS_NOEND(interval)) return IntervalRange::plus_infinity;
  if (INTERVAL_IS_NOBEGIN(interval)) return IntervalRange::minus_infinity;
#else
  (void)interval;
#endif
  return IntervalRange::finite;
}

// 14 introduced infinite numerics.
inline bool is_finite(Numeric number) {
#if PG_VERSION_NUM >= 140000
  if (numeric_is_inf(number)) return false;
#endif
  return !numeric_is_nan(number);
}

// 17 gave processes a number of their own.
inline int own_process_number() {
#if PG_VERSION_NUM >= 170000
  return MyProcNumber;
#else
  return MyProc->pgprocno;
#endif
}

// 17 moved the number of the transaction in this session.
inline LocalTransactionId local_transaction() {
#if PG_VERSION_NUM >= 170000
  return MyProc->vxid.lxid;
#else
  return MyProc->lxid;
#endif
}

// 16 renamed where the log says which file is meant.
inline xl_seq_rec sequence_log_record(Relation sequence) {
  xl_seq_rec record;
#if PG_VERSION_NUM >= 160000
  record.locator = sequence->rd_locator;
#else
  record.node = sequence->rd_node;
#endif
  return record;
}

// 16 renamed which subtransactions of this transaction have given a relation another file: the
// first one that was not rolled back, and the last one, which is forgotten when it is rolled back.
struct FileMakers {
  SubTransactionId first;
  SubTransactionId last;
};

inline FileMakers file_makers(Relation relation) {
#if PG_VERSION_NUM >= 160000
  return {relation->rd_firstRelfilelocatorSubid, relation->rd_newRelfilelocatorSubid};
#else
  return {relation->rd_firstRelfilenodeSubid, relation->rd_newRelfilenodeSubid};
#endif
}

// 17 merged the question for a lock mode with that for a stronger one.
inline bool holds_lock(const LOCKTAG *tag, LOCKMODE mode) {
#if PG_VERSION_NUM >= 170000
  return LockHeldByMe(tag, mode, false);
#else
  return LockHeldByMe(tag, mode);
#endif
}

// 18 can log a lock that could not be had at once.
inline LockAcquireResult acquire_lock(const LOCKTAG *tag, LOCKMODE mode, bool for_session,
                                      bool dont_wait, LOCALLOCK **local) {
#if PG_VERSION_NUM >= 180000
  return LockAcquireExtended(tag, mode, for_session, dont_wait, true, local, false);
#else
  return LockAcquireExtended(tag, mode, for_session, dont_wait, true, local);
#endif
}

// 17 lets an extension name what it waits for in pg_stat_activity.
inline uint32 claim_wait_event() {
#if PG_VERSION_NUM >= 170000
  static uint32 event = 0;
  if (event == 0) event = WaitEventExtensionNew("IdemClaimWait");
  return event;
#else
  return PG_WAIT_EXTENSION;
#endif
}

// 15 lets an extension reserve its prefix, so that a misspelt setting is refused when it is set.
inline void reserve_setting_prefix(const char *prefix) {
#if PG_VERSION_NUM >= 150000
  MarkGUCPrefixReserved(prefix);
#else
  EmitWarningsOnPlaceholders(prefix);
#endif
}

// 15 no longer calls a partition's copies of its table's triggers internal, and says otherwise that
// they are copies.
inline bool is_copy_of_parents(const Trigger &trigger) {
#if PG_VERSION_NUM >= 150000
  return trigger.tgisclone;
#else
  return trigger.tgisinternal;
#endif
}

}  // namespace idem::server
