// Where the records live: OIDs and column numbers of idem_records, its index, its sequence and
// types, looked up once per session and again after anything about them changed.

#pragma once

#include "server/prelude.hpp"
#include "server/statement.hpp"

namespace idem::records {

// Columns of idem_records that we read, in the order in which RecordsTable::columns holds their
// numbers.
enum class Column : int {
  scope,
  key,
  status,
  token,
  attempt,
  owner,
  created_at,
  lease_expires_at,
  expires_at,
  completed_at,
  fingerprint,
  code,
  result,
  body,
  checkpoint,
  checkpoint_data
};
inline constexpr int kColumns = 16;

struct RecordsTable {
  server::Home home;
  Oid records;
  Oid primary_key;  // valid only when `direct`
  Oid tokens;
  Oid scopes;
  Oid claim_type;
  Oid record_type;
  AttrNumber columns[kColumns];
  // A plain local heap with a B-tree on (key, scope): records may be read through the index
  // directly. Otherwise (partitioned, foreign, distributed) SQL reads them.
  bool direct;
  // Also nothing but our columns and indexes: no trigger, rule, CHECK or generated column, so that
  // rows may be written without the executor's help.
  bool plain;
  // Tells a description from a later one; see server::DescribedTable.
  uint64 generation;
};

// The table next to the function being called, which must have been called through fmgr (fn_oid
// set), locked in `mode` until the transaction ends, so that what is described here stays true.
// Raises 42P01, 42704, 42703 or 42804 when the extension's objects are incomplete or altered beyond
// use.
RecordsTable records_table(FunctionCallInfo fcinfo, LOCKMODE mode);

// Called when a session looks the table up for the first time, or again after it changed.
extern void (*on_look_up)();

// Locks the table in a stronger mode, and describes it anew if it changed while that had to wait.
void lock_records(RecordsTable &table, LOCKMODE mode);

// The same unless it would have to wait; then false.
bool try_lock_records(RecordsTable &table, LOCKMODE mode);

}  // namespace idem::records
