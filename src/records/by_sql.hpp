// Every operation of the store as one SQL statement over idem_records, for tables of whatever kind.
// store.cpp decides between these and the direct ones, and store.hpp says what each does.

#pragma once

#include "records/record.hpp"
#include "records/store.hpp"
#include "records/table.hpp"
#include "server/prelude.hpp"

namespace idem::records {

Sighting look_by_sql(const RecordsTable &table, const Identity &id, bool read_only);
bool insert_by_sql(const RecordsTable &table, const Identity &id, const Grant &grant);
bool take_over_by_sql(const RecordsTable &table, const Identity &id, const Grant &grant,
                      const RecordState &expected, Handover *handover);
bool redate_by_sql(const RecordsTable &table, const Identity &id, std::int64_t token,
                   NullableDatum created_at, TimestampTz expires_at);
bool settle_by_sql(const RecordsTable &table, const Identity &id, std::int64_t token,
                   const Outcome &outcome);
bool release_by_sql(const RecordsTable &table, const Identity &id, std::int64_t token);
bool extend_by_sql(const RecordsTable &table, const Identity &id, std::int64_t token,
                   TimestampTz until, bool overdue, TimestampTz *lease_expires_at);
bool retire_by_sql(const RecordsTable &table, const Identity &id, std::int64_t token,
                   TimestampTz until);
bool share_by_sql(const RecordsTable &table, const Identity &id, std::int64_t token);
bool reclaim_by_sql(const RecordsTable &table, const Identity &id, const Grant &grant,
                    const RecordState &expected, bool alone);
bool renew_by_sql(const RecordsTable &table, const Identity &id, const Grant &grant,
                  std::int64_t token, bool first_attempt);
bool checkpoint_by_sql(const RecordsTable &table, const Identity &id, std::int64_t token,
                       Datum name, NullableDatum data, bool overdue);
bool resolve_by_sql(const RecordsTable &table, const Identity &id, std::int64_t token,
                    const Outcome &outcome, const RecordState &expected);
bool forget_by_sql(const RecordsTable &table, const Identity &id, const RecordState &expected);
bool reclaim_archiving_by_sql(const RecordsTable &table, const Identity &id, const Grant &grant,
                              const RecordState &expected);

}  // namespace idem::records
