#include "records/store.hpp"

#include "records/by_sql.hpp"
#include "records/direct.hpp"
#include "records/rewriting.hpp"
#include "server/prelude.hpp"
#include "server/settings.hpp"

namespace idem::records {

namespace {

bool may_read_directly(const RecordsTable &table) {
  return table.direct && server::settings.direct_access;
}

bool may_write_directly(const RecordsTable &table) {
  return table.plain && server::settings.direct_access;
}

}  // namespace

Sighting look(const RecordsTable &table, const Identity &id) {
  return may_read_directly(table) ? look_directly(table, id, Absence::likely)
                                  : look_by_sql(table, id, false);
}

Sighting look_surely(const RecordsTable &table, const Identity &id) {
  return may_read_directly(table) ? look_directly(table, id, Absence::certain)
                                  : look_by_sql(table, id, false);
}

Sighting look_in_snapshot(const RecordsTable &table, const Identity &id) {
  return may_read_directly(table) ? look_directly_in_snapshot(table, id)
                                  : look_by_sql(table, id, true);
}

bool writes_without_waiting(const RecordsTable &table) {
  return may_write_directly(table);
}

bool insert_claim(const RecordsTable &table, const Identity &id, const Grant &grant,
                  bool competitor) {
  return may_write_directly(table) ? insert_directly(table, id, grant, competitor)
                                   : insert_by_sql(table, id, grant);
}

Written reclaim(const RecordsTable &table, const Identity &id, const Grant &grant,
                const RecordState &expected, const Manner &manner) {
  if (may_write_directly(table)) return reclaim_directly(table, id, grant, expected, manner);
  return written_if(reclaim_by_sql(table, id, grant, expected, manner.alone));
}

bool reclaim_archiving(const RecordsTable &table, const Identity &id, const Grant &grant,
                       const RecordState &expected) {
  return reclaim_archiving_by_sql(table, id, grant, expected);
}

Written take_over(const RecordsTable &table, const Identity &id, const Grant &grant,
                  const RecordState &expected, const Manner &manner, Handover *handover) {
  if (may_write_directly(table))
    return take_over_directly(table, id, grant, expected, manner, handover);
  return written_if(take_over_by_sql(table, id, grant, expected, handover));
}

bool renew(const RecordsTable &table, const Identity &id, const Grant &grant, std::int64_t token,
           bool first_attempt) {
  return may_write_directly(table) ? renew_directly(table, id, grant, token, first_attempt)
                                   : renew_by_sql(table, id, grant, token, first_attempt);
}

bool redate(const RecordsTable &table, const Identity &id, std::int64_t token,
            NullableDatum created_at, TimestampTz expires_at) {
  return may_write_directly(table) ? redate_directly(table, id, token, created_at, expires_at)
                                   : redate_by_sql(table, id, token, created_at, expires_at);
}

bool settle(const RecordsTable &table, const Identity &id, std::int64_t token,
            const Outcome &outcome) {
  return may_write_directly(table) ? settle_directly(table, id, token, outcome)
                                   : settle_by_sql(table, id, token, outcome);
}

bool release(const RecordsTable &table, const Identity &id, std::int64_t token) {
  return may_write_directly(table) ? release_directly(table, id, token)
                                   : release_by_sql(table, id, token);
}

bool extend(const RecordsTable &table, const Identity &id, std::int64_t token, TimestampTz until,
            bool overdue, TimestampTz *lease_expires_at) {
  return may_write_directly(table)
             ? extend_directly(table, id, token, until, overdue, lease_expires_at)
             : extend_by_sql(table, id, token, until, overdue, lease_expires_at);
}

bool retire(const RecordsTable &table, const Identity &id, std::int64_t token, TimestampTz until) {
  return may_write_directly(table) ? retire_directly(table, id, token, until)
                                   : retire_by_sql(table, id, token, until);
}

bool share_claim(const RecordsTable &table, const Identity &id, std::int64_t token) {
  return may_write_directly(table) ? share_directly(table, id, token)
                                   : share_by_sql(table, id, token);
}

bool checkpoint(const RecordsTable &table, const Identity &id, std::int64_t token, Datum name,
                NullableDatum data, bool overdue) {
  return checkpoint_by_sql(table, id, token, name, data, overdue);
}

bool resolve(const RecordsTable &table, const Identity &id, std::int64_t token,
             const Outcome &outcome, const RecordState &expected) {
  return resolve_by_sql(table, id, token, outcome, expected);
}

bool forget(const RecordsTable &table, const Identity &id, const RecordState &expected) {
  return forget_by_sql(table, id, expected);
}

void give_up(const Identity &id) {
  ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                  errmsg("could not settle the race for key \"%s\"", text_to_cstring(id.key)),
                  errhint("Retry the transaction.")));
  pg_unreachable();
}

std::int64_t next_token(const RecordsTable &table) {
  return nextval_internal(table.tokens, false);
}

}  // namespace idem::records
