// Reading the arguments that name machines, tables and columns.

#pragma once

#include "machines/store.hpp"
#include "server/prelude.hpp"

namespace idem::machines {

// A machine's name, or null for NULL where that is allowed.
const char *machine_argument(FunctionCallInfo fcinfo, int number);
const char *required_machine(FunctionCallInfo fcinfo, int number, const char *what);

// A version of a machine; 0 for NULL: the newest. Raises ID400.
int version_argument(FunctionCallInfo fcinfo, int number);

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
const char *required_column_name(FunctionCallInfo fcinfo, int number);

}  // namespace idem::machines
