// The writes of the store to a record that exists, through direct.hpp and without SQL. store.hpp
// says what each does. All need table.plain.

#pragma once

#include "records/record.hpp"
#include "records/store.hpp"
#include "records/table.hpp"
#include "server/prelude.hpp"

namespace idem::records {

Written reclaim_directly(const RecordsTable &table, const Identity &id, const Grant &grant,
                         const RecordState &expected, const Manner &manner);
Written take_over_directly(const RecordsTable &table, const Identity &id, const Grant &grant,
                           const RecordState &expected, const Manner &manner, Handover *handover);
bool redate_directly(const RecordsTable &table, const Identity &id, std::int64_t token,
                     NullableDatum created_at, TimestampTz expires_at);
bool settle_directly(const RecordsTable &table, const Identity &id, std::int64_t token,
                     const Outcome &outcome);
bool release_directly(const RecordsTable &table, const Identity &id, std::int64_t token);
bool extend_directly(const RecordsTable &table, const Identity &id, std::int64_t token,
                     TimestampTz until, bool overdue, TimestampTz *lease_expires_at);
bool retire_directly(const RecordsTable &table, const Identity &id, std::int64_t token,
                     TimestampTz until);
bool renew_directly(const RecordsTable &table, const Identity &id, const Grant &grant,
                    std::int64_t token, bool first_attempt);

}  // namespace idem::records
