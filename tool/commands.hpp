// What pgidem does, a function for each of its commands. They return the exit status, or throw
// Failure.

#pragma once

#include "tool/options.hpp"

namespace idem::tool {

int run_once(const OnceOptions &options);
int run_lock(const LockOptions &options);
int run_get(const GetOptions &options);
int run_forget(const ForgetOptions &options);
int run_resolve(const ResolveOptions &options);
int run_locks(const LocksOptions &options);
int run_stat(const StatOptions &options);
int run_top(const TopOptions &options);

}  // namespace idem::tool
