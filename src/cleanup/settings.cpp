#include "cleanup/settings.hpp"

#include "server/error.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

namespace {

constexpr int kDefaultNaptime = 60;
constexpr int kLongestNaptime = 24 * 60 * 60;
constexpr int kDefaultBatch = 1000;
constexpr int kLargestBatch = 100000;
constexpr int kDefaultWorkers = 2;
constexpr int kMostWorkers = 64;

}  // namespace

Settings settings = {true, kDefaultNaptime, kDefaultBatch, 0, nullptr, nullptr, kDefaultWorkers, -1,
                     -1};

namespace {

std::vector<Window> windows() {
  return parse_windows(settings.window == nullptr ? "" : settings.window);
}

Micros time_of_day() {
  struct pg_tm local;
  fsec_t fraction;
  int zone;
  if (timestamp2tm(GetCurrentTimestamp(), &zone, &local, &fraction, nullptr, nullptr) != 0)
    return 0;
  return ((local.tm_hour * 60 + local.tm_min) * 60 + local.tm_sec) * kSecond + fraction;
}

// A check hook must not raise: it says why and returns false.
bool check_window(char **value, void **, GucSource) {
  server::Failure failure;
  try {
    (void)parse_windows(*value);
    return true;
  } catch (const Error &error) {
    failure.keep(error);
  } catch (...) {
    failure.keep_out_of_memory();
  }
  GUC_check_errmsg("invalid value for \"idem.cleanup_window\": %s", failure.message);
  GUC_check_errdetail("%s", failure.detail);
  GUC_check_errhint("%s", failure.hint);
  return false;
}

bool check_databases(char **value, void **, GucSource) {
  char *copy = pstrdup(*value);
  List *names = NIL;
  bool valid = SplitIdentifierString(copy, ',', &names);
  ListCell *cell;
  foreach (cell, names)
    if (*static_cast<const char *>(lfirst(cell)) == '\0') valid = false;
  if (!valid) {
    GUC_check_errdetail("The value is not a list of database names.");
    GUC_check_errhint("Write for example 'shop, \"Order History\"', or '' for all databases.");
  }
  list_free(names);
  pfree(copy);
  return valid;
}

void define_limits() {
  DefineCustomIntVariable("idem.cleanup_batch", "Rows that cleanup removes in one transaction.",
                          nullptr, &settings.batch, kDefaultBatch, 1, kLargestBatch, PGC_SIGHUP, 0,
                          nullptr, nullptr, nullptr);
  DefineCustomIntVariable("idem.cleanup_rows_per_second",
                          "Rows that cleanup removes in a database within a second; 0 is no limit.",
                          nullptr, &settings.rows_per_second, 0, 0, INT_MAX, PGC_SIGHUP, 0, nullptr,
                          nullptr, nullptr);
  DefineCustomIntVariable(
      "idem.cleanup_max_workers", "Databases that are cleaned up at the same time.",
      "Each takes one of max_worker_processes.", &settings.max_workers, kDefaultWorkers, 1,
      kMostWorkers, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
}

void define_retentions() {
  DefineCustomIntVariable("idem.archive_retention",
                          "How long archived records are kept; -1 keeps them for ever.",
                          "Whole months are dropped, once all of the month is older than this.",
                          &settings.archive_retention, -1, -1, INT_MAX, PGC_SIGHUP, GUC_UNIT_S,
                          nullptr, nullptr, nullptr);
  DefineCustomIntVariable("idem.history_retention",
                          "How long the history of state machines is kept; -1 keeps it for ever.",
                          "Whole months are dropped, once all of the month is older than this.",
                          &settings.history_retention, -1, -1, INT_MAX, PGC_SIGHUP, GUC_UNIT_S,
                          nullptr, nullptr, nullptr);
}

}  // namespace

void define_settings() {
  DefineCustomBoolVariable("idem.cleanup", "Removes expired rows in the background.",
                           "Needs pg_idem in shared_preload_libraries.", &settings.enabled, true,
                           PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
  DefineCustomIntVariable("idem.cleanup_naptime",
                          "Shortest time between two visits of cleanup to a database.", nullptr,
                          &settings.naptime, kDefaultNaptime, 1, kLongestNaptime, PGC_SIGHUP,
                          GUC_UNIT_S, nullptr, nullptr, nullptr);
  DefineCustomStringVariable("idem.cleanup_window",
                             "Times of day at which cleanup may run; empty is always.",
                             "For example '01:00-05:00, 22:30-24:00', in the server's time zone.",
                             &settings.window, "", PGC_SIGHUP, 0, check_window, nullptr, nullptr);
  DefineCustomStringVariable("idem.cleanup_databases",
                             "Databases in which cleanup runs; empty is all that have pg_idem.",
                             nullptr, &settings.databases, "", PGC_SIGHUP, GUC_LIST_INPUT,
                             check_databases, nullptr, nullptr);
  define_limits();
  define_retentions();
}

Micros naptime() {
  return settings.naptime * kSecond;
}

Micros window_open_for() {
  return open_for(windows(), time_of_day()).value_or(0);
}

Micros window_opens_in() {
  return opens_in(windows(), time_of_day());
}

bool serves_database(const char *name) {
  List *names = NIL;
  char *copy = pstrdup(settings.databases == nullptr ? "" : settings.databases);
  if (!SplitIdentifierString(copy, ',', &names)) return false;
  bool found = names == NIL;
  ListCell *cell;
  foreach (cell, names)
    if (strcmp(static_cast<const char *>(lfirst(cell)), name) == 0) found = true;
  list_free(names);
  pfree(copy);
  return found;
}

}  // namespace idem::cleanup
