#include "streams/refusal.hpp"

#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace idem::streams {

namespace {

using server::errcode_of;

long long shown(std::int64_t number) {
  return static_cast<long long>(number);
}

const char *batch_of(const Request &request) {
  if (request.first == request.last) return psprintf("sequence %lld", shown(request.first));
  return psprintf("batch %lld to %lld", shown(request.first), shown(request.last));
}

[[noreturn]] void refuse_gap(const Producer &producer, const Request &request,
                             std::int64_t missing) {
  ereport(ERROR,
          (errcode(errcode_of(sqlstate::kGap)),
           errmsg("%s of producer %lld leaves a gap", batch_of(request), shown(producer.id)),
           errdetail("The last sequence accepted is %lld, and %lld is missing.",
                     shown(producer.state.last_seq), shown(missing)),
           errhint("Send what is missing first, or call idem_producer and go on after the last_seq "
                   "that it returns.")));
  pg_unreachable();
}

[[noreturn]] void refuse_overlap(const Producer &producer, const Request &request,
                                 std::int64_t first_new) {
  ereport(ERROR, (errcode(errcode_of(sqlstate::kGap)),
                  errmsg("%s of producer %lld was accepted in part before", batch_of(request),
                         shown(producer.id)),
                  errdetail("The last sequence accepted is %lld; the new part begins with %lld.",
                            shown(producer.state.last_seq), shown(first_new)),
                  errhint("Send the new part alone, or make the stream monotonic with "
                          "idem_stream_set.")));
  pg_unreachable();
}

[[noreturn]] void refuse_fenced(const Producer &producer, std::int64_t epoch) {
  ereport(ERROR,
          (errcode(errcode_of(sqlstate::kFencedProducer)),
           errmsg("epoch %lld of producer %lld is fenced", shown(epoch), shown(producer.id)),
           errdetail("The producer was registered again; its epoch is %d.", producer.state.epoch),
           errhint("Stop, if another process took over. To take over from it, call "
                   "idem_producer.")));
  pg_unreachable();
}

[[noreturn]] void refuse_epoch(const Producer &producer, std::int64_t epoch) {
  ereport(ERROR, (errcode(errcode_of(sqlstate::kUnknownProducer)),
                  errmsg("epoch %lld of producer %lld was never given out", shown(epoch),
                         shown(producer.id)),
                  errdetail("The epoch is %d, and the last sequence accepted is %lld.",
                            producer.state.epoch, shown(producer.state.last_seq)),
                  errhint("Call idem_producer and go on after the last_seq that it returns.")));
  pg_unreachable();
}

[[noreturn]] void refuse_expired(const Producer &producer) {
  ereport(ERROR, (errcode(errcode_of(sqlstate::kUnknownProducer)),
                  errmsg("producer %lld has expired", shown(producer.id)),
                  errdetail("It was not used for longer than its stream retains producers. The "
                            "last sequence accepted is %lld.",
                            shown(producer.state.last_seq)),
                  errhint("Call idem_producer and go on after the last_seq that it returns.")));
  pg_unreachable();
}

[[noreturn]] void refuse_too_old(const Producer &producer, const Policy &policy,
                                 const Request &request) {
  ereport(
      ERROR,
      (errcode(errcode_of(sqlstate::kTooOld)),
       errmsg("%s of producer %lld is not remembered any more", batch_of(request),
              shown(producer.id)),
       errdetail("The last sequence accepted is %lld; the stream remembers the last %d batches.",
                 shown(producer.state.last_seq), policy.remember),
       errhint("Have more remembered, or repeats taken for duplicates, with idem_stream_set.")));
  pg_unreachable();
}

}  // namespace

void refuse_unknown(const text *stream, std::int64_t id) {
  ereport(ERROR, (errcode(errcode_of(sqlstate::kUnknownProducer)),
                  errmsg("producer %lld is not known in stream \"%s\"", shown(id),
                         text_to_cstring(stream)),
                  errhint("Call idem_producer and go on after the last_seq that it returns.")));
  pg_unreachable();
}

void refuse(Step step, const Producer &producer, const Policy &policy, const Request &request,
            std::int64_t first_new) {
  switch (step) {
    case Step::gap:
      refuse_gap(producer, request, first_new);
    case Step::overlap:
      refuse_overlap(producer, request, first_new);
    case Step::fenced:
      refuse_fenced(producer, request.epoch);
    case Step::unknown_epoch:
      refuse_epoch(producer, request.epoch);
    case Step::expired:
      refuse_expired(producer);
    case Step::too_old:
      refuse_too_old(producer, policy, request);
    case Step::accept:
    case Step::duplicate:
      break;
  }
  elog(ERROR, "batch was not refused");
  pg_unreachable();
}

void refuse_changed() {
  ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                  errmsg("could not serialize access: the producer changed after this "
                         "transaction's snapshot"),
                  errhint("Retry the transaction.")));
  pg_unreachable();
}

void refuse_reuse(const Producer &producer, const Request &request) {
  ereport(ERROR,
          (errcode(errcode_of(sqlstate::kReusedEvent)),
           errmsg("%s of producer %lld was accepted with another hash", batch_of(request),
                  shown(producer.id)),
           errhint("Send the same content when a batch is repeated, and give new content new "
                   "numbers.")));
  pg_unreachable();
}

void refuse_not_accepted(const Producer &producer, std::int64_t number) {
  ereport(ERROR, (errcode(errcode_of(sqlstate::kGap)),
                  errmsg("sequence %lld of producer %lld was not accepted", shown(number),
                         shown(producer.id)),
                  errdetail("The last sequence accepted is %lld.", shown(producer.state.last_seq)),
                  errhint("Call idem_accept first.")));
  pg_unreachable();
}

void refuse_other_result(const Producer &producer, std::int64_t number) {
  ereport(ERROR,
          (errcode(errcode_of(sqlstate::kOtherResult)),
           errmsg("the batch of producer %lld that begins with %lld already has another result",
                  shown(producer.id), shown(number)),
           errhint("The first result stands; idem_accept returns it.")));
  pg_unreachable();
}

}  // namespace idem::streams
