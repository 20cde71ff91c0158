#include "records/answers.hpp"

#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace idem::records {

namespace {

constexpr NullableDatum kNull = {0, true};

NullableDatum present(Datum value) {
  return {value, false};
}

NullableDatum column(const Record &record, Column which) {
  return {record.value(which), record.null(which)};
}

Datum interval_of(Micros micros) {
  auto *interval = static_cast<Interval *>(palloc0(sizeof(Interval)));
  interval->time = micros;
  return IntervalPGetDatum(interval);
}

Claim empty_claim(ClaimOutcome outcome) {
  return {outcome, kNull, kNull, kNull, kNull, kNull, kNull, kNull,
          kNull,   kNull, kNull, kNull, kNull, kNull, false, kNull};
}

// What a caller without the claim may see of it.
Claim refusal(ClaimOutcome outcome, const Sighting &sighting) {
  Claim claim = empty_claim(outcome);
  if (sighting.presence != Presence::present || outcome == ClaimOutcome::mismatch) return claim;
  claim.attempt = column(sighting.record, Column::attempt);
  claim.owner = column(sighting.record, Column::owner);
  claim.lease_expires_at = column(sighting.record, Column::lease_expires_at);
  claim.expires_at = column(sighting.record, Column::expires_at);
  return claim;
}

Claim replay(const Record &record) {
  Claim claim = empty_claim(ClaimOutcome::replayed);
  claim.attempt = column(record, Column::attempt);
  claim.code = column(record, Column::code);
  claim.result = column(record, Column::result);
  claim.body = column(record, Column::body);
  claim.failed = present(BoolGetDatum(record.state.status == Status::failed));
  claim.owner = column(record, Column::owner);
  claim.lease_expires_at = column(record, Column::lease_expires_at);
  claim.expires_at = column(record, Column::expires_at);
  claim.created_at = column(record, Column::created_at);
  return claim;
}

const char *outcome_name(ClaimOutcome outcome) {
  switch (outcome) {
    case ClaimOutcome::started:
      return "started";
    case ClaimOutcome::finished:
      return "finished";
    case ClaimOutcome::replayed:
      return "replayed";
    case ClaimOutcome::in_progress:
      return "in_progress";
    case ClaimOutcome::mismatch:
      return "mismatch";
    case ClaimOutcome::held:
      return "held";
    case ClaimOutcome::exhausted:
      break;
  }
  return "exhausted";
}

}  // namespace

Claim started(const Grant &grant, std::int32_t attempt, TimestampTz expires_at) {
  Claim claim = empty_claim(ClaimOutcome::started);
  claim.token = present(Int64GetDatum(grant.token));
  claim.attempt = present(Int32GetDatum(attempt));
  claim.owner = {PointerGetDatum(grant.owner), grant.owner == nullptr};
  claim.lease_expires_at = present(TimestampTzGetDatum(grant.lease_expires_at));
  claim.expires_at = present(TimestampTzGetDatum(expires_at));
  claim.created_at = present(TimestampTzGetDatum(grant.granted_at));
  return claim;
}

Claim settled(const Grant &grant) {
  Claim claim = started(grant, 1, grant.expires_at);
  claim.outcome = ClaimOutcome::finished;
  claim.code = grant.outcome->code;
  claim.result = grant.outcome->result;
  claim.body = grant.outcome->body;
  claim.failed = present(BoolGetDatum(grant.outcome->status == Status::failed));
  return claim;
}

Claim resumed(const Grant &grant, const Handover &handover, const Record &record) {
  Claim claim = started(grant, handover.attempt, record.state.expires_at);
  claim.checkpoint = handover.checkpoint;
  claim.checkpoint_data = handover.checkpoint_data;
  return claim;
}

Claim busy(const Sighting &sighting, Micros retry_after) {
  Claim claim = refusal(ClaimOutcome::in_progress, sighting);
  claim.retry_after = present(interval_of(retry_after));
  if (sighting.presence == Presence::present)
    claim.holder_data = column(sighting.record, Column::checkpoint_data);
  return claim;
}

Claim answer(const BeginVerdict &verdict, const Sighting &sighting) {
  switch (verdict.step) {
    case BeginStep::replayed:
      return replay(sighting.record);
    case BeginStep::mismatch:
      return refusal(ClaimOutcome::mismatch, sighting);
    case BeginStep::held:
      return refusal(ClaimOutcome::held, sighting);
    case BeginStep::exhausted:
      return refusal(ClaimOutcome::exhausted, sighting);
    default:
      return busy(sighting, verdict.retry_after);
  }
}

void require_claim_or_result(const Claim &claim, const Identity &id) {
  switch (claim.outcome) {
    case ClaimOutcome::started:
    case ClaimOutcome::finished:
    case ClaimOutcome::replayed:
      return;
    case ClaimOutcome::in_progress: {
      const char *retry_after =
          DatumGetCString(DirectFunctionCall1(interval_out, claim.retry_after.value));
      ereport(ERROR, (errcode(server::errcode_of(sqlstate::kInProgress)),
                      errmsg("key \"%s\" is already being worked on", text_to_cstring(id.key)),
                      errdetail("Another claim holds it; retry after %s.", retry_after),
                      errhint("Retry later with the same key.")));
      break;
    }
    case ClaimOutcome::mismatch:
      ereport(ERROR,
              (errcode(server::errcode_of(sqlstate::kFingerprint)),
               errmsg("key \"%s\" was used for a different request", text_to_cstring(id.key)),
               errdetail("The fingerprints differ."), errhint("Use a new key for a new request.")));
      break;
    case ClaimOutcome::held:
    case ClaimOutcome::exhausted:
      ereport(ERROR, (errcode(server::errcode_of(sqlstate::kHeld)),
                      errmsg("key \"%s\" needs an operator", text_to_cstring(id.key)),
                      claim.outcome == ClaimOutcome::held
                          ? errdetail("Its owner was lost, and the scope holds abandoned work.")
                          : errdetail("It was attempted %d times, the most the scope allows.",
                                      DatumGetInt32(claim.attempt.value)),
                      errhint("Find out how far the work got, then call idem_resolve.")));
  }
}

Datum claim_datum(const RecordsTable &table, const Claim &claim) {
  const NullableDatum columns[] = {present(CStringGetTextDatum(outcome_name(claim.outcome))),
                                   claim.token,
                                   claim.attempt,
                                   claim.code,
                                   claim.result,
                                   claim.body,
                                   claim.failed,
                                   claim.checkpoint,
                                   claim.checkpoint_data,
                                   claim.owner,
                                   claim.lease_expires_at,
                                   claim.expires_at,
                                   claim.retry_after};
  Datum values[lengthof(columns)];
  bool nulls[lengthof(columns)];
  for (std::size_t i = 0; i < lengthof(columns); i++) {
    values[i] = columns[i].value;
    nulls[i] = columns[i].isnull;
  }
  TupleDesc descriptor = lookup_rowtype_tupdesc(table.claim_type, -1);
  if (descriptor->natts != static_cast<int>(lengthof(columns)))
    elog(ERROR, "type idem_claim has %d columns instead of %zu", descriptor->natts,
         lengthof(columns));
  HeapTuple tuple = heap_form_tuple(descriptor, values, nulls);
  ReleaseTupleDesc(descriptor);
  return HeapTupleGetDatum(tuple);
}

}  // namespace idem::records
