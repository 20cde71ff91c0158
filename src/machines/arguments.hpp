// Reading the arguments that name machines and their columns.

#pragma once

#include "machines/store.hpp"
#include "server/prelude.hpp"

namespace idem::machines {

// A machine's name, or null for NULL where that is allowed.
const char *machine_argument(FunctionCallInfo fcinfo, int number);
const char *required_machine(FunctionCallInfo fcinfo, int number, const char *what);

// A version of a machine; 0 for NULL: the newest. Raises ID400.
int version_argument(FunctionCallInfo fcinfo, int number);

// The column with the status.
const char *required_column_name(FunctionCallInfo fcinfo, int number);

}  // namespace idem::machines
