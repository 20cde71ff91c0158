#include "records/record.hpp"

#include "server/prelude.hpp"

namespace idem::records {

namespace {

Status parse_status(Datum value) {
  const text *name = DatumGetTextPP(value);
  const Size length = VARSIZE_ANY_EXHDR(name);
  for (const Status status :
       {Status::in_progress, Status::finished, Status::failed, Status::released}) {
    const char *candidate = status_name(status);
    if (strlen(candidate) == length && memcmp(candidate, VARDATA_ANY(name), length) == 0)
      return status;
  }
  ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
                  errmsg("record has unknown status \"%s\"", text_to_cstring(name)),
                  errhint("Somebody wrote to idem_records by hand; delete the row or repair its "
                          "status.")));
  pg_unreachable();
}

uint64 hash_text(const text *value, uint64 seed) {
  return DatumGetUInt64(
      hash_any_extended(reinterpret_cast<const unsigned char *>(VARDATA_ANY(value)),
                        static_cast<int>(VARSIZE_ANY_EXHDR(value)), seed));
}

// A claim has no code before it is settled, and a lock never is: until then the column holds the
// grace period.
Micros grace_of(const Record &record) {
  if (record.state.status != Status::in_progress || record.null(Column::code)) return 0;
  return static_cast<Micros>(DatumGetInt32(record.value(Column::code))) * 1000;
}

}  // namespace

std::uint64_t hash_of(const Identity &id, std::uint64_t seed) {
  return hash_text(id.key, hash_text(id.scope, seed));
}

const char *status_name(Status status) {
  switch (status) {
    case Status::in_progress:
      return "in_progress";
    case Status::finished:
      return "finished";
    case Status::failed:
      return "failed";
    case Status::released:
      break;
  }
  return "released";
}

Record record_of(const Identity &id, const Grant &grant) {
  Record record;
  memset(record.nulls, true, sizeof(record.nulls));
  record.set(Column::scope, {PointerGetDatum(id.scope), false});
  record.set(Column::key, {PointerGetDatum(id.key), false});
  const Status status = grant.outcome != nullptr ? grant.outcome->status : Status::in_progress;
  record.set(Column::status, {CStringGetTextDatum(status_name(status)), false});
  record.set(Column::token, {Int64GetDatum(grant.token), false});
  record.set(Column::attempt, {Int32GetDatum(1), false});
  record.set(Column::owner, {PointerGetDatum(grant.owner), grant.owner == nullptr});
  record.set(Column::created_at, {TimestampTzGetDatum(grant.granted_at), false});
  record.set(Column::lease_expires_at, {TimestampTzGetDatum(grant.lease_expires_at), false});
  record.set(Column::expires_at, {TimestampTzGetDatum(grant.expires_at), false});
  record.set(Column::fingerprint,
             {PointerGetDatum(grant.fingerprint), grant.fingerprint == nullptr});
  record.set(Column::code, grant.grace);
  record.set(Column::checkpoint_data, grant.data);
  if (grant.outcome == nullptr) return record;
  record.set(Column::completed_at, {TimestampTzGetDatum(grant.granted_at), false});
  record.set(Column::code, grant.outcome->code);
  record.set(Column::result, grant.outcome->result);
  record.set(Column::body, grant.outcome->body);
  return record;
}

Record read_record(HeapTuple tuple, TupleDesc descriptor, const AttrNumber *columns,
                   TransactionId xmin) {
  Record record;
  auto *values = static_cast<Datum *>(palloc(descriptor->natts * sizeof(Datum)));
  auto *nulls = static_cast<bool *>(palloc(descriptor->natts * sizeof(bool)));
  heap_deform_tuple(tuple, descriptor, values, nulls);
  for (int i = 0; i < kColumns; i++) {
    record.values[i] = values[columns[i] - 1];
    record.nulls[i] = nulls[columns[i] - 1];
  }
  record.state.status = parse_status(record.value(Column::status));
  record.state.token = DatumGetInt64(record.value(Column::token));
  record.state.attempt = DatumGetInt32(record.value(Column::attempt));
  record.state.lease_expires_at = DatumGetTimestampTz(record.value(Column::lease_expires_at));
  record.state.expires_at = DatumGetTimestampTz(record.value(Column::expires_at));
  record.state.written_here = TransactionIdIsCurrentTransactionId(xmin);
  record.state.grace = grace_of(record);
  record.state.rests = record.state.status == Status::released && !record.null(Column::code);
  return record;
}

}  // namespace idem::records
