#include "records/rewriting.hpp"

#include "records/direct.hpp"
#include "server/prelude.hpp"

namespace idem::records {

namespace {

NullableDatum number(std::int64_t value) {
  return {Int64GetDatum(value), false};
}

NullableDatum time(TimestampTz value) {
  return {TimestampTzGetDatum(value), false};
}

constexpr NullableDatum kNull = {0, true};

void write_status(Record &record, Status status) {
  record.set(Column::status, {CStringGetTextDatum(status_name(status)), false});
}

template <typename Change>
Written rewrite(const RecordsTable &table, const Identity &id, const Manner &manner,
                Change change) {
  return rewrite_directly(
      table, id, manner,
      [](Record &record, void *argument) { return (*static_cast<Change *>(argument))(record); },
      &change);
}

// Rewrites the claim if it is in progress under this token. `edit` may still refuse.
template <typename Edit>
Written rewrite_claim(const RecordsTable &table, const Identity &id, std::int64_t token,
                      const Manner &manner, Edit edit) {
  return rewrite(table, id, manner, [&](Record &record) {
    return decide_release(&record.state, token) == TokenStep::allow && edit(record);
  });
}

constexpr Manner kPatiently = {Blocking::as_needed, false};

}  // namespace

Written reclaim_directly(const RecordsTable &table, const Identity &id, const Grant &grant,
                         const RecordState &expected, const Manner &manner) {
  return rewrite(table, id, manner, [&](Record &record) {
    const RecordState &state = record.state;
    if (state.token != expected.token || state.status != expected.status ||
        state.lease_expires_at != expected.lease_expires_at)
      return false;
    record = record_of(id, grant);
    return true;
  });
}

Written take_over_directly(const RecordsTable &table, const Identity &id, const Grant &grant,
                           const RecordState &expected, const Manner &manner, Handover *handover) {
  return rewrite_claim(table, id, expected.token, manner, [&](Record &record) {
    if (record.state.lease_expires_at != expected.lease_expires_at) return false;
    *handover = {record.state.attempt + 1,
                 {record.value(Column::checkpoint), record.null(Column::checkpoint)},
                 {record.value(Column::checkpoint_data), record.null(Column::checkpoint_data)}};
    record.set(Column::token, number(grant.token));
    record.set(Column::attempt, {Int32GetDatum(handover->attempt), false});
    record.set(Column::owner, {PointerGetDatum(grant.owner), grant.owner == nullptr});
    record.set(Column::lease_expires_at, time(grant.lease_expires_at));
    if (record.null(Column::fingerprint) && grant.fingerprint != nullptr)
      record.set(Column::fingerprint, {PointerGetDatum(grant.fingerprint), false});
    return true;
  });
}

bool redate_directly(const RecordsTable &table, const Identity &id, std::int64_t token,
                     NullableDatum created_at, TimestampTz expires_at) {
  return rewrite(table, id, kPatiently, [&](Record &record) {
           const RecordState &state = record.state;
           if (state.token != token || state.status == Status::in_progress) return false;
           record.set(Column::expires_at, time(Max(state.expires_at, expires_at)));
           if (created_at.isnull) return true;
           record.set(Column::created_at, created_at);
           record.set(Column::completed_at, created_at);
           return true;
         }) == Written::yes;
}

bool settle_directly(const RecordsTable &table, const Identity &id, std::int64_t token,
                     const Outcome &outcome) {
  return rewrite_claim(table, id, token, kPatiently, [&](Record &record) {
           write_status(record, outcome.status);
           record.set(Column::code, outcome.code);
           record.set(Column::result, outcome.result);
           record.set(Column::body, outcome.body);
           record.set(Column::completed_at, time(GetCurrentTimestamp()));
           return true;
         }) == Written::yes;
}

bool release_directly(const RecordsTable &table, const Identity &id, std::int64_t token) {
  return rewrite_claim(table, id, token, kPatiently, [&](Record &record) {
           write_status(record, Status::released);
           record.set(Column::code, kNull);
           record.set(Column::checkpoint, kNull);
           record.set(Column::checkpoint_data, kNull);
           record.set(Column::completed_at, time(GetCurrentTimestamp()));
           return true;
         }) == Written::yes;
}

bool extend_directly(const RecordsTable &table, const Identity &id, std::int64_t token,
                     TimestampTz until, bool overdue, TimestampTz *lease_expires_at) {
  return rewrite_claim(table, id, token, kPatiently, [&](Record &record) {
           const RecordState &state = record.state;
           if (!overdue && lease_over(state, GetCurrentTimestamp())) return false;
           *lease_expires_at = Max(state.lease_expires_at, until);
           record.set(Column::lease_expires_at, time(*lease_expires_at));
           if (state.grace > 0)
             record.set(Column::expires_at, time(Max(state.expires_at, until + state.grace)));
           return true;
         }) == Written::yes;
}

bool retire_directly(const RecordsTable &table, const Identity &id, std::int64_t token,
                     TimestampTz until) {
  return rewrite_claim(table, id, token, kPatiently, [&](Record &record) {
           write_status(record, Status::released);
           record.set(Column::lease_expires_at, time(until));
           record.set(Column::expires_at, time(Max(record.state.expires_at, until)));
           record.set(Column::code, {Int32GetDatum(0), false});
           record.set(Column::checkpoint, kNull);
           record.set(Column::checkpoint_data, kNull);
           record.set(Column::completed_at, time(GetCurrentTimestamp()));
           return true;
         }) == Written::yes;
}

bool renew_directly(const RecordsTable &table, const Identity &id, const Grant &grant,
                    std::int64_t token, bool first_attempt) {
  return rewrite_claim(table, id, token, kPatiently, [&](Record &record) {
           record.set(Column::token, number(grant.token));
           record.set(Column::lease_expires_at, time(grant.lease_expires_at));
           if (!first_attempt) return true;
           record.set(Column::created_at, time(grant.granted_at));
           record.set(Column::expires_at, time(grant.expires_at));
           return true;
         }) == Written::yes;
}

}  // namespace idem::records
