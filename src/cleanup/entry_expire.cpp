// idem_expire_attach, idem_expire_detach and idem_expire_run: expiry for any table.

#include "cleanup/batch.hpp"
#include "cleanup/leaf.hpp"
#include "cleanup/rules.hpp"
#include "cleanup/run.hpp"
#include "cleanup/shared.hpp"
#include "server/arguments.hpp"
#include "server/compat.hpp"
#include "server/guard.hpp"
#include "server/inheritance.hpp"
#include "server/prelude.hpp"
#include "server/rows.hpp"

namespace {

using idem::cleanup::Leaf;
using idem::cleanup::Opening;
using idem::cleanup::Premises;
using idem::cleanup::Rule;
using idem::server::errcode_of;

constexpr TimestampTz kLongestAfter = 1000 * 366 * USECS_PER_DAY;
constexpr int kLargestBatch = 100000;

Oid required_table(FunctionCallInfo fcinfo, int number) {
  if (PG_ARGISNULL(number) || get_rel_name(PG_GETARG_OID(number)) == nullptr)
    ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kBadArgument)),
                    errmsg("rel must be a table"), errhint("Pass for example 'public.orders'.")));
  return PG_GETARG_OID(number);
}

void require_owner(Oid table) {
  if (!idem::server::owns_table(GetUserId(), table))
    aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(table));
}

bool is_member(Oid table) {
  const Oid extension = getExtensionOfObject(RelationRelationId, table);
  return OidIsValid(extension) && extension == get_extension_oid("pg_idem", true);
}

// Months of the archive and of the history are no members, but partitions of one.
bool is_ours(Oid table) {
  ListCell *cell;
  foreach (cell, idem::server::ancestors_of(table))
    if (is_member(lfirst_oid(cell))) return true;
  return false;
}

bool is_table_of_user(Oid table) {
  const char kind = get_rel_relkind(table);
  return (kind == RELKIND_RELATION || kind == RELKIND_PARTITIONED_TABLE) &&
         get_rel_persistence(table) != RELPERSISTENCE_TEMP && table >= FirstNormalObjectId &&
         !is_ours(table);
}

void require_table_of_user(Oid table, const char *what) {
  if (is_table_of_user(table)) return;
  ereport(ERROR,
          (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("%s \"%s\"", what, get_rel_name(table)),
           errhint("Pass an ordinary or partitioned table, and none of pg_idem or of the "
                   "server, which look after themselves.")));
}

AttrNumber required_column(FunctionCallInfo fcinfo, int number, Oid table) {
  const char *name = PG_ARGISNULL(number) ? nullptr : NameStr(*PG_GETARG_NAME(number));
  const AttrNumber column = name == nullptr ? InvalidAttrNumber : get_attnum(table, name);
  if (column <= 0)
    ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kBadArgument)),
                    errmsg("table \"%s\" has no column \"%s\"", get_rel_name(table),
                           name == nullptr ? "" : name),
                    errhint("Pass the column with the time from which its rows count.")));
  if (!OidIsValid(idem::cleanup::expiry_type(get_atttype(table, column))))
    ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kBadArgument)),
                    errmsg("rows cannot expire by column \"%s\" of type %s", name,
                           format_type_be(get_atttype(table, column))),
                    errhint("Pass a column of type timestamptz, timestamp or date.")));
  return column;
}

Interval required_after(FunctionCallInfo fcinfo, int number) {
  if (PG_ARGISNULL(number))
    ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kBadArgument)),
                    errmsg("after must not be null"), errhint("Pass for example '30 days'.")));
  const Interval after = *PG_GETARG_INTERVAL_P(number);
  if (idem::server::interval_range(&after) != idem::server::IntervalRange::finite)
    ereport(ERROR,
            (errcode(errcode_of(idem::sqlstate::kBadArgument)), errmsg("after must be finite"),
             errhint("Pass for example '30 days'; without an attachment rows stay for ever.")));
  // Such as '1 month -30 days', which is in the future in some months.
  if (after.month < 0 || after.day < 0 || after.time < 0)
    ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kBadArgument)),
                    errmsg("after must not be negative, nor any part of it"),
                    errhint("Pass for example '30 days'.")));
  const TimestampTz now = GetCurrentTimestamp();
  const TimestampTz until =
      idem::server::deadline(now, &after, "after", idem::server::Infinite::refused, true);
  if (until - now > kLongestAfter)
    ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kBadArgument)), errmsg("after is too long"),
                    errhint("Pass at most 1000 years.")));
  return after;
}

int optional_batch(FunctionCallInfo fcinfo, int number) {
  if (PG_ARGISNULL(number)) return 0;
  const int batch = PG_GETARG_INT32(number);
  if (batch < 1 || batch > kLargestBatch)
    ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kBadArgument)),
                    errmsg("batch must be from 1 to %d, not %d", kLargestBatch, batch),
                    errhint("Leave it out to follow idem.cleanup_batch.")));
  return batch;
}

// The archive that goes with the action, or InvalidOid.
Oid archive_of(FunctionCallInfo fcinfo, int action, int archive, Oid table) {
  const char *word = PG_ARGISNULL(action) ? "" : text_to_cstring(PG_GETARG_TEXT_PP(action));
  const bool archiving = strcmp(word, "archive") == 0;
  if (!archiving && strcmp(word, "delete") != 0)
    ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kBadArgument)),
                    errmsg("action must be \"delete\" or \"archive\", not \"%s\"", word),
                    errhint("Pass one of the two words.")));
  if (archiving == PG_ARGISNULL(archive))
    ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kBadArgument)),
                    archiving ? errmsg("action \"archive\" needs a table to move rows to")
                              : errmsg("action \"delete\" takes no archive"),
                    errhint("Pass action => 'archive' together with archive => 'a_table'.")));
  if (!archiving) return InvalidOid;
  const Oid target = PG_GETARG_OID(archive);
  if (get_rel_name(target) == nullptr || idem::server::descends_from(target, table) ||
      idem::server::descends_from(table, target))
    ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kBadArgument)),
                    errmsg("archive must be another table"),
                    errhint("Make one with CREATE TABLE ... (LIKE ...).")));
  require_table_of_user(target, "rows cannot be archived in");
  return target;
}

// Also finds the leaves that have no usable index.
void require_leaves(const Rule &rule) {
  ListCell *cell;
  foreach (cell, idem::cleanup::leaves_of(rule)) {
    Leaf leaf;
    const Opening opening =
        idem::cleanup::open_leaf(rule, lfirst_oid(cell), idem::cleanup::LeafUse::expire, &leaf);
    if (opening == Opening::open && OidIsValid(rule.archive))
      idem::cleanup::require_fitting_archive(leaf);
  }
}

[[noreturn]] void refuse_held(Oid table) {
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("table \"%s\" is held since it was restored", get_rel_name(table)),
                  errhint("Call idem_cleanup_resume() once the restore is complete, or attach the "
                          "table again.")));
  pg_unreachable();
}

// The table named, or all but those that a restore may not have finished with.
List *chosen_rules(FunctionCallInfo fcinfo, const Premises &premises) {
  List *chosen = NIL;
  ListCell *cell;
  foreach (cell, idem::cleanup::rules_of(premises)) {
    auto *rule = static_cast<Rule *>(lfirst(cell));
    if (rule->own) continue;
    const bool named = !PG_ARGISNULL(0) && rule->table == PG_GETARG_OID(0);
    if (named && rule->held) refuse_held(rule->table);
    if (named || (PG_ARGISNULL(0) && !rule->held)) chosen = lappend(chosen, rule);
  }
  if (PG_ARGISNULL(0) || chosen != NIL) return chosen;
  const char *name = get_rel_name(PG_GETARG_OID(0));
  ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kBadArgument)),
                  errmsg("table \"%s\" is not attached", name == nullptr ? "?" : name),
                  errhint("Call idem_expire_attach first.")));
  pg_unreachable();
}

}  // namespace

IDEM_FUNCTION(idem_expire_attach) {
  idem::server::require_writable("idem_expire_attach()");
  const Premises premises = idem::cleanup::premises_of(fcinfo);
  Rule rule = {};
  rule.table = required_table(fcinfo, 0);
  // Only the owner may lock it, and nothing about it may change between the checks and the commit.
  require_owner(rule.table);
  LockRelationOid(rule.table, ShareUpdateExclusiveLock);
  (void)required_table(fcinfo, 0);
  require_owner(rule.table);
  require_table_of_user(rule.table, "rows cannot expire in");
  rule.column = required_column(fcinfo, 1, rule.table);
  rule.after = required_after(fcinfo, 2);
  rule.batch = optional_batch(fcinfo, 3);
  rule.archive = archive_of(fcinfo, 4, 5, rule.table);
  require_leaves(rule);
  idem::cleanup::tidy(premises);
  idem::cleanup::attach(premises, rule, get_attname(rule.table, rule.column, false));
  idem::cleanup::request_visit_at_commit(idem::cleanup::Request::soon);
  PG_RETURN_VOID();
}

IDEM_FUNCTION(idem_expire_detach) {
  idem::server::require_writable("idem_expire_detach()");
  if (PG_ARGISNULL(0))
    ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kBadArgument)),
                    errmsg("rel must not be null"), errhint("Pass the attached table.")));
  const Oid table = PG_GETARG_OID(0);
  if (get_rel_name(table) != nullptr) require_owner(table);
  return BoolGetDatum(idem::cleanup::detach(idem::cleanup::premises_of(fcinfo), table));
}

IDEM_FUNCTION(idem_expire_run) {
  idem::server::require_writable("idem_expire_run()");
  if (PG_ARGISNULL(1) || PG_GETARG_INT64(1) < 1)
    ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kBadArgument)),
                    errmsg("max_rows must be positive"), errhint("Pass for example 1000.")));
  const Premises premises = idem::cleanup::premises_of(fcinfo);
  idem::cleanup::tidy(premises);
  const idem::server::Rows rows = idem::server::begin_rows(fcinfo);
  ListCell *cell;
  foreach (cell, chosen_rules(fcinfo, premises)) {
    const auto *rule = static_cast<const Rule *>(lfirst(cell));
    const idem::cleanup::Run run = idem::cleanup::run_table(premises, *rule, PG_GETARG_INT64(1));
    Datum values[] = {ObjectIdGetDatum(rule->table), Int64GetDatum(run.rows),
                      BoolGetDatum(run.more)};
    bool nulls[] = {false, false, false};
    rows.add(values, nulls);
  }
  return Datum{0};
}
