// Where the producers live: OIDs and column numbers of idem_producers and its company, looked up
// once per session and again after anything about them changed.

#pragma once

#include "server/prelude.hpp"
#include "server/statement.hpp"

namespace idem::streams {

// Columns of idem_producers that we read, in the order in which StreamTables::columns holds their
// numbers.
enum class Column : int {
  producer_id,
  stream,
  expires_at,
  epoch,
  last_seq,
  firsts,
  lasts,
  hashes,
  results
};
inline constexpr int kColumns = 9;
// Those that we never read included.
inline constexpr int kTableColumns = 11;

struct StreamTables {
  server::Home home;
  Oid producers;
  Oid primary_key;  // valid only when `plain`
  Oid streams;
  Oid ids;  // the sequence
  Oid acceptance_type;
  AttrNumber columns[kColumns];
  // A plain local heap with a B-tree on producer_id and nothing but our columns and indexes: rows
  // may be read and written without SQL. Otherwise (partitioned, foreign, with triggers) SQL does.
  bool plain;
  // Tells a description from a later one; see server::DescribedTable.
  uint64 generation;
};

// The tables next to the function being called, which must have been called through fmgr (fn_oid
// set). idem_producers is locked in `mode` until the transaction ends, so that what is described
// here stays true; not for NoLock, which does for whoever asks for settings only. Raises 42P01,
// 42704, 42703 or 42804 when the extension's objects are incomplete or altered beyond use.
StreamTables stream_tables(FunctionCallInfo fcinfo, LOCKMODE mode);

}  // namespace idem::streams
