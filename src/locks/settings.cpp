#include "locks/settings.hpp"

#include "server/prelude.hpp"

namespace idem::locks {

namespace {
constexpr int kDefaultSessionLocks = 1024;
constexpr int kMostSessionLocks = 1024 * 1024;
}  // namespace

Settings settings = {kDefaultSessionLocks};

void define_settings() {
  if (process_shared_preload_libraries_in_progress)
    DefineCustomIntVariable(
        "idem.max_session_locks",
        "How many names sessions may lock or wait for at the same time, in all databases together.",
        nullptr, &settings.max_session_locks, kDefaultSessionLocks, 1, kMostSessionLocks,
        PGC_POSTMASTER, 0, nullptr, nullptr, nullptr);
}

}  // namespace idem::locks
