#include "server/settings.hpp"

#include "server/compat.hpp"
#include "server/prelude.hpp"

namespace idem::server {

namespace {
constexpr int kDefaultLease = 60;
constexpr int kDefaultRetain = 24 * 60 * 60;
constexpr int kDefaultMaxResultBytes = 1024 * 1024;
constexpr int kLargestResult = 512 * 1024 * 1024;
constexpr int kDefaultPositionCache = 8 * 1024;
constexpr int kLargestPositionCache = 1024 * 1024;
}  // namespace

Settings settings = {kDefaultLease, kDefaultRetain, kDefaultMaxResultBytes, true,
                     kDefaultPositionCache};

void define_settings() {
  DefineCustomIntVariable("idem.default_lease",
                          "How long a claim is protected when neither the call nor the scope says.",
                          nullptr, &settings.default_lease, kDefaultLease, 1, INT_MAX, PGC_USERSET,
                          GUC_UNIT_S, nullptr, nullptr, nullptr);
  DefineCustomIntVariable("idem.default_retain",
                          "How long a record is kept when neither the call nor the scope says.",
                          nullptr, &settings.default_retain, kDefaultRetain, 1, INT_MAX,
                          PGC_USERSET, GUC_UNIT_S, nullptr, nullptr, nullptr);
  DefineCustomIntVariable("idem.default_max_result_bytes",
                          "Largest result or checkpoint of a scope that sets no limit of its own.",
                          nullptr, &settings.default_max_result_bytes, kDefaultMaxResultBytes, 0,
                          kLargestResult, PGC_SUSET, GUC_UNIT_BYTE, nullptr, nullptr, nullptr);
  DefineCustomBoolVariable(
      "idem.direct_access", "Reads records through their index without SQL where that is possible.",
      "Off reads them by SQL always. Answers are the same; this is for tests "
      "and for finding faults.",
      &settings.direct_access, true, PGC_USERSET, GUC_NOT_IN_SAMPLE, nullptr, nullptr, nullptr);
  if (process_shared_preload_libraries_in_progress)
    DefineCustomIntVariable(
        "idem.position_cache_size", "Shared memory for the places where records were met last.",
        nullptr, &settings.position_cache_size, kDefaultPositionCache, 0, kLargestPositionCache,
        PGC_POSTMASTER, GUC_UNIT_KB, nullptr, nullptr, nullptr);
}

}  // namespace idem::server
