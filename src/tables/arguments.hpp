// Reading the arguments that name a user's table, its columns and its rows.

#pragma once

#include "server/prelude.hpp"

namespace idem::tables {

// An existing relation, locked until the transaction ends. Raises ID400, and 42501 for callers who
// have not the privilege, not even on a single column.
Relation open_table(FunctionCallInfo fcinfo, int number, LOCKMODE mode, AclMode privilege);

// The same for what only the owner of the table may do; others do not come to hold the lock. Raises
// 42501.
Relation open_owned_table(FunctionCallInfo fcinfo, int number, LOCKMODE mode);

// The key of a row, see read_key.
Jsonb *required_key(FunctionCallInfo fcinfo, int number);

// Null for NULL.
const char *column_argument(FunctionCallInfo fcinfo, int number);

// The number of a column. Raises 42703 when there is none of this name.
AttrNumber existing_column(Relation relation, const char *name);

// Raises 42809 for what rows cannot be watched in by triggers: anything but an ordinary or
// partitioned table, a partition, a system catalog. `what` is to be attached, as in "a state
// machine".
void require_attachable(Relation relation, const char *what);

// Only the second of these: partitions have what their table has.
void require_no_partition(Relation relation);

}  // namespace idem::tables
