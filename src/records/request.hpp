// Arguments that several functions of this room share. Server C++: may ereport with ID400.

#pragma once

#include "records/scopes.hpp"
#include "records/store.hpp"
#include "server/prelude.hpp"

namespace idem::records {

Identity read_identity(FunctionCallInfo fcinfo, int key, int scope);

// Null stands for NULL.
const Interval *read_interval(FunctionCallInfo fcinfo, int number);

// NULL counts as false.
bool read_flag(FunctionCallInfo fcinfo, int number);

// Null when the argument is NULL, which the scope may refuse.
const bytea *read_fingerprint(FunctionCallInfo fcinfo, int number, const ScopeSettings &settings);

// Null stands for NULL.
const text *read_owner(FunctionCallInfo fcinfo, int number);

}  // namespace idem::records
