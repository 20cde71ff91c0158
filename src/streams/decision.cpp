#include "streams/decision.hpp"

#include <algorithm>

namespace idem::streams {

namespace {

// The row may hold more than the stream remembers by now.
int oldest_place(const Recent &recent, const Policy &policy) {
  return std::max(recent.count - policy.remember, 0);
}

int find_exact(const Recent &recent, const Policy &policy, const Request &request) {
  for (int place = recent.count - 1; place >= oldest_place(recent, policy); place--) {
    const Batch &batch = recent.batches[place];
    if (batch.first == request.first && batch.last == request.last) return place;
  }
  return -1;
}

Micros later(Micros from, Micros span) {
  return from > 0 && span > kForever - from ? kForever : from + span;
}

bool before_all(const Recent &recent, const Policy &policy, std::int64_t number) {
  const int oldest = oldest_place(recent, policy);
  return oldest == recent.count || number < recent.batches[oldest].first;
}

}  // namespace

bool is_final(Step step) {
  return step == Step::duplicate || step == Step::too_old || step == Step::fenced;
}

Step decide_epoch(const ProducerState &producer, std::int64_t epoch, Micros now) {
  if (epoch < 1 || epoch > producer.epoch) return Step::unknown_epoch;
  if (epoch < producer.epoch) return Step::fenced;
  return producer.expires_at <= now ? Step::expired : Step::accept;
}

Verdict decide_accept(const ProducerState &producer, const Recent &recent, const Policy &policy,
                      const Request &request, Micros now) {
  const Step right = decide_epoch(producer, request.epoch, now);
  if (right != Step::accept) return {right, 0, -1};
  if (request.last <= producer.last_seq) {
    const int place = find_exact(recent, policy, request);
    return {place < 0 && policy.refuse_too_old ? Step::too_old : Step::duplicate, 0, place};
  }
  // It does not overflow: the batch ends with a greater number.
  const std::int64_t next = producer.last_seq + 1;
  const bool strict = policy.mode == Mode::strict;
  if (request.first < next) return {strict ? Step::overlap : Step::accept, next, -1};
  if (request.first > next && strict) return {Step::gap, next, -1};
  return {Step::accept, request.first, -1};
}

int find_batch(const Recent &recent, const Policy &policy, std::int64_t first) {
  for (int place = recent.count - 1; place >= oldest_place(recent, policy); place--)
    if (recent.batches[place].first == first) return place;
  return -1;
}

Micros keep_until(Micros expires_at, Micros retain, Micros now) {
  const Micros least = later(now, retain);
  const Micros most = later(least, retain / 10);
  return expires_at >= least && expires_at <= most ? expires_at : most;
}

Selection select_new(const ProducerState &producer, const Recent &recent, const Policy &policy,
                     const std::int64_t *numbers, std::size_t count) {
  const std::int64_t *end = numbers + count;
  const std::int64_t *fresh = std::upper_bound(numbers, end, producer.last_seq);
  if (policy.refuse_too_old && fresh != numbers && before_all(recent, policy, numbers[0]))
    return {Step::too_old, 0, 0};
  if (fresh == end) return {Step::duplicate, count, 0};
  std::int64_t before = producer.last_seq;
  for (const std::int64_t *number = fresh; policy.mode == Mode::strict && number != end; number++) {
    if (*number != before + 1)
      return {Step::gap, static_cast<std::size_t>(number - numbers), before + 1};
    before = *number;
  }
  return {Step::accept, static_cast<std::size_t>(fresh - numbers), 0};
}

}  // namespace idem::streams
