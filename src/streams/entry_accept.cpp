// idem_accept and idem_accept_result: batches of numbered messages, each once.

#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "streams/call.hpp"
#include "streams/limits.hpp"
#include "streams/refusal.hpp"
#include "streams/store.hpp"

namespace {

using idem::streams::Call;
using idem::streams::Producer;
using idem::streams::Request;
using idem::streams::Ruling;
using idem::streams::Step;
using idem::streams::Verdict;

struct Acceptance {
  bool accepted;
  std::int64_t first;
  std::int64_t last;
  NullableDatum result;
  bool remembered;
};

struct Accepting {
  const Call *call;
  Request request;
  NullableDatum hash;
  NullableDatum result;
  Acceptance answer;
};

bool same_bytes(NullableDatum one, NullableDatum other) {
  return datumIsEqual(PointerGetDatum(PG_DETOAST_DATUM(one.value)),
                      PointerGetDatum(PG_DETOAST_DATUM(other.value)), false, -1);
}

Ruling accept(Accepting &accepting, Producer &producer, const Verdict &verdict) {
  const Request &request = accepting.request;
  append(producer, {request.first, request.last}, accepting.hash, accepting.result,
         accepting.call->settings.policy);
  (void)prolong(producer.state, *accepting.call);
  accepting.answer = {true, verdict.first_new, request.last, accepting.result, false};
  return Ruling::write;
}

Ruling recognise(Accepting &accepting, Producer &producer, int place) {
  const Request &request = accepting.request;
  accepting.answer = {false, request.first, request.last, {0, true}, place >= 0};
  if (place >= 0) {
    const NullableDatum hash = hash_at(producer.window, place);
    if (!hash.isnull && !accepting.hash.isnull && !same_bytes(hash, accepting.hash))
      idem::streams::refuse_reuse(producer, request);
    const NullableDatum result = result_at(producer.window, place);
    if (!result.isnull) accepting.answer.result = {datumCopy(result.value, false, -1), false};
  }
  return prolong(producer.state, *accepting.call) ? Ruling::write : Ruling::leave;
}

Ruling judge(Accepting &accepting, Producer *producer, bool settled) {
  const Call &call = *accepting.call;
  if (producer == nullptr) idem::streams::refuse_unknown(call.stream, call.producer_id);
  const Verdict verdict = decide_accept(producer->state, producer->window.recent,
                                        call.settings.policy, accepting.request, call.now);
  if (verdict.step == Step::accept) return accept(accepting, *producer, verdict);
  if (verdict.step == Step::duplicate) return recognise(accepting, *producer, verdict.place);
  if (!settled && !is_final(verdict.step)) return Ruling::settle;
  refuse(verdict.step, *producer, call.settings.policy, accepting.request, verdict.first_new);
}

Request read_request(FunctionCallInfo fcinfo, const Call &call) {
  Request request;
  request.epoch = call.epoch;
  request.first = idem::streams::required_number(fcinfo, 3, "seq");
  request.last = PG_ARGISNULL(4) ? request.first : PG_GETARG_INT64(4);
  if (request.last < request.first)
    ereport(ERROR,
            (errcode(idem::server::errcode_of(idem::sqlstate::kBadArgument)),
             errmsg("last_seq must not be less than seq"),
             errdetail("The batch would go from %lld to %lld.",
                       static_cast<long long>(request.first), static_cast<long long>(request.last)),
             errhint("Pass the last number of the batch, or leave it out for one message.")));
  return request;
}

Datum form_acceptance(const Call &call, const Acceptance &answer) {
  TupleDesc descriptor = lookup_rowtype_tupdesc(call.tables.acceptance_type, -1);
  Datum values[] = {CStringGetTextDatum(answer.accepted ? "accepted" : "duplicate"),
                    Int64GetDatum(answer.first), Int64GetDatum(answer.last), answer.result.value,
                    BoolGetDatum(answer.remembered)};
  bool nulls[] = {false, false, false, answer.result.isnull, answer.accepted};
  HeapTuple tuple = heap_form_tuple(descriptor, values, nulls);
  ReleaseTupleDesc(descriptor);
  return HeapTupleGetDatum(tuple);
}

bool same_json(NullableDatum one, NullableDatum other) {
  return DatumGetBool(DirectFunctionCall2(jsonb_eq, one.value, other.value));
}

struct Keeping {
  const Call *call;
  std::int64_t first;
  NullableDatum result;
};

// Final or not: what is refused is so after a wait for open transactions only.
Ruling keep(const Keeping &keeping, Producer *producer, bool settled) {
  const Call &call = *keeping.call;
  if (producer == nullptr) idem::streams::refuse_unknown(call.stream, call.producer_id);
  if (!settled) return Ruling::settle;
  const idem::streams::Policy &policy = call.settings.policy;
  const Request request = {call.epoch, keeping.first, keeping.first};
  const Step right = decide_epoch(producer->state, call.epoch, call.now);
  if (right != Step::accept) refuse(right, *producer, policy, request, 0);
  if (keeping.first > producer->state.last_seq)
    idem::streams::refuse_not_accepted(*producer, keeping.first);
  const int place = find_batch(producer->window.recent, policy, keeping.first);
  if (place < 0) refuse(Step::too_old, *producer, policy, request, 0);
  const NullableDatum before = result_at(producer->window, place);
  if (!before.isnull && !same_json(before, keeping.result))
    idem::streams::refuse_other_result(*producer, keeping.first);
  const bool prolonged = prolong(producer->state, call);
  if (!before.isnull) return prolonged ? Ruling::write : Ruling::leave;
  set_result(producer->window, place, keeping.result);
  return Ruling::write;
}

NullableDatum read_hash(FunctionCallInfo fcinfo, int number) {
  const text *hash =
      idem::server::limited_text(fcinfo, number, "hash", idem::streams::kMaxHashBytes);
  return {PointerGetDatum(hash), hash == nullptr};
}

}  // namespace

IDEM_FUNCTION(idem_accept) {
  const Call call = idem::streams::read_call(fcinfo, "idem_accept()");
  Accepting accepting = {};
  accepting.call = &call;
  accepting.request = read_request(fcinfo, call);
  accepting.hash = read_hash(fcinfo, 5);
  accepting.result = idem::streams::given_result(fcinfo, 6);
  consult(call.tables, call.stream, call.producer_id,
          [&accepting](Producer *producer, bool settled) {
            return judge(accepting, producer, settled);
          });
  return form_acceptance(call, accepting.answer);
}

IDEM_FUNCTION(idem_accept_result) {
  const Call call = idem::streams::read_call(fcinfo, "idem_accept_result()");
  Keeping keeping;
  keeping.call = &call;
  keeping.first = idem::streams::required_number(fcinfo, 3, "seq");
  keeping.result = idem::streams::given_result(fcinfo, 4);
  if (keeping.result.isnull)
    ereport(ERROR, (errcode(idem::server::errcode_of(idem::sqlstate::kBadArgument)),
                    errmsg("result must not be null"),
                    errhint("Pass 'null' as jsonb, or do not call this function.")));
  consult(call.tables, call.stream, call.producer_id, [&keeping](Producer *producer, bool settled) {
    return keep(keeping, producer, settled);
  });
  PG_RETURN_VOID();
}
