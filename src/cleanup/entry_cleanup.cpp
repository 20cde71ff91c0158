// idem_purge, and what an operator tells the worker: now, pause, resume.

#include "cleanup/purge.hpp"
#include "cleanup/rules.hpp"
#include "cleanup/run.hpp"
#include "cleanup/settings.hpp"
#include "cleanup/shared.hpp"
#include "machines/history_months.hpp"
#include "records/table.hpp"
#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/months.hpp"
#include "server/prelude.hpp"
#include "streams/progress.hpp"

namespace {

using idem::cleanup::Premises;
using idem::cleanup::Request;

idem::server::Statement pause_statement = {
    "INSERT INTO @idem_cleanup_paused (paused_at, paused_by)"
    " VALUES (pg_catalog.clock_timestamp(), $1) ON CONFLICT DO NOTHING",
    1,
    {TEXTOID}};

idem::server::Statement resume_statement = {"DELETE FROM @idem_cleanup_paused", 0, {}};

[[noreturn]] void refuse_now(const char *why, const char *hint) {
  ereport(ERROR,
          (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
           errmsg("the cleanup worker cannot visit this database: %s", why), errhint("%s", hint)));
  pg_unreachable();
}

void require_worker(const Premises &premises) {
  if (!idem::cleanup::available())
    refuse_now("pg_idem is not in shared_preload_libraries",
               "Call idem_purge() and idem_expire_run() instead, from time to time, or preload the "
               "library and restart the server.");
  if (!idem::cleanup::settings.enabled)
    refuse_now("idem.cleanup is off", "Set idem.cleanup = on and reload the configuration.");
  if (!idem::cleanup::serves_database(get_database_name(MyDatabaseId)))
    refuse_now("idem.cleanup_databases does not list it",
               "Add it to the list and reload the configuration.");
  if (idem::cleanup::is_paused(premises))
    refuse_now("cleanup is paused here", "Call idem_cleanup_resume().");
}

// Nobody else does it where no worker comes. Until it succeeds, the default partition will do.
void make_months_of_history(const Premises &premises) {
  if (idem::server::is_in_use(idem::machines::kHistory, premises.home))
    (void)idem::server::try_to_provide_partitions(idem::machines::kHistory, premises.home,
                                                  GetCurrentTimestamp());
}

// Rows go by SQL where their addresses mean nothing.
std::int64_t purge_records(const Premises &premises, std::int64_t limit) {
  idem::cleanup::Rule rule;
  (void)idem::cleanup::hold_rule(premises, premises.records, &rule);
  if (!idem::cleanup::has_addresses(premises.records))
    return idem::cleanup::purge(premises, rule, GetCurrentTimestamp(), limit);
  return idem::cleanup::run_leaf(premises, rule, premises.records, limit).rows;
}

std::int64_t purge(const Premises &premises, std::int64_t limit) {
  const std::int64_t records = purge_records(premises, limit);
  if (records >= limit) return records;
  const idem::cleanup::Rule rule = idem::cleanup::rule_for_producers(premises);
  return records + idem::cleanup::run_table(premises, rule, limit - records).rows;
}

}  // namespace

IDEM_FUNCTION(idem_purge) {
  idem::server::require_writable("idem_purge()");
  // A producer may be in use for longer than its row says.
  idem::streams::write_progress();
  if (PG_ARGISNULL(0) || PG_GETARG_INT64(0) < 1) {
    ereport(ERROR, (errcode(idem::server::errcode_of(idem::sqlstate::kBadArgument)),
                    PG_ARGISNULL(0) ? errmsg("max_rows must not be null")
                                    : errmsg("max_rows must be positive, not %lld",
                                             static_cast<long long>(PG_GETARG_INT64(0))),
                    errhint("Pass the most rows to delete in this transaction, such as 1000.")));
  }
  // Locked and described, so that an altered table is refused in the same words everywhere.
  (void)idem::records::records_table(fcinfo, RowExclusiveLock);
  const Premises premises = idem::cleanup::premises_of(fcinfo);
  make_months_of_history(premises);
  return Int64GetDatum(purge(premises, PG_GETARG_INT64(0)));
}

IDEM_FUNCTION(idem_cleanup_now) {
  idem::server::require_writable("idem_cleanup_now()");
  require_worker(idem::cleanup::premises_of(fcinfo));
  // It may be just coming back, so this is no error: the request waits for it.
  if (idem::cleanup::launcher() == 0)
    ereport(WARNING,
            (errmsg("the cleanup launcher does not run at present"),
             errdetail("The visit takes place when it does."),
             errhint("If this lasts, increase max_worker_processes and restart the server.")));
  idem::cleanup::request_visit_at_commit(Request::now);
  PG_RETURN_VOID();
}

IDEM_FUNCTION(idem_cleanup_pause) {
  idem::server::require_writable("idem_cleanup_pause()");
  const Premises premises = idem::cleanup::premises_of(fcinfo);
  idem::cleanup::stop_batches(premises);
  Datum values[] = {CStringGetTextDatum(GetUserNameFromId(GetUserId(), false))};
  (void)idem::server::execute(pause_statement, premises.home, values, nullptr);
  PG_RETURN_VOID();
}

IDEM_FUNCTION(idem_cleanup_resume) {
  idem::server::require_writable("idem_cleanup_resume()");
  const Premises premises = idem::cleanup::premises_of(fcinfo);
  const bool paused = idem::server::execute(resume_statement, premises.home, nullptr, nullptr) > 0;
  idem::cleanup::tidy(premises);
  const bool held = idem::cleanup::release_held(premises);
  idem::cleanup::request_visit_at_commit(Request::soon);
  return BoolGetDatum(paused || held);
}
