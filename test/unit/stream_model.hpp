// What a stream owes its producers, told by somebody who forgets nothing: the whole history of a
// producer is kept, and every answer is looked up in it number by number. It shares no comparison
// with the code under test.

#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "streams/decision.hpp"

namespace idem::streams::model {

class History {
 public:
  struct Answer {
    Step step;
    std::int64_t first_new;  // to accept, or what is missing
    bool remembered;
  };

  explicit History(Micros now, Micros retain) : used_at_(now), retain_(retain) {}

  void register_again(Micros now) {
    registrations_++;
    used_at_ = now;
  }

  std::int32_t epoch() const { return registrations_; }
  std::int64_t greatest() const { return numbers_.empty() ? 0 : *numbers_.rbegin(); }

  // Certainly alive; certainly dead; or in the tenth of retain in which it may be either.
  bool alive(Micros now) const { return now < used_at_ + retain_; }
  bool dead(Micros now) const { return now >= used_at_ + retain_ + retain_ / 10; }

  Answer answer(const Policy &policy, const Request &request) const {
    if (request.epoch < 1 || request.epoch > registrations_) return {Step::unknown_epoch, 0, false};
    if (request.epoch != registrations_) return {Step::fenced, 0, false};
    std::int64_t seen = 0;
    std::int64_t lowest_new = 0;
    for (std::int64_t number = request.first; number <= request.last; number++) {
      const bool is_new =
          policy.mode == Mode::strict ? numbers_.count(number) == 0 : number > greatest();
      if (!is_new) seen++;
      if (is_new && lowest_new == 0) lowest_new = number;
    }
    if (lowest_new == 0) {
      const bool known = remembers(policy, request);
      return {!known && policy.refuse_too_old ? Step::too_old : Step::duplicate, 0, known};
    }
    if (policy.mode == Mode::monotonic) return {Step::accept, lowest_new, false};
    const std::int64_t missing = lowest_missing();
    if (seen > 0) return {Step::overlap, lowest_new, false};
    if (request.first != missing) return {Step::gap, missing, false};
    return {Step::accept, lowest_new, false};
  }

  void accept(const Policy &policy, const Request &request, std::int64_t first_new) {
    for (std::int64_t number = first_new; number <= request.last; number++) numbers_.insert(number);
    batches_.push_back({request.first, request.last});
    kept_ = kept_ < policy.remember ? kept_ + 1 : policy.remember;
  }

  void use(Micros now) { used_at_ = now; }

  // What was left out before a stream became strict again is not asked for any more.
  void forgive() {
    for (std::int64_t number = 1; number < greatest(); number++) numbers_.insert(number);
  }

 private:
  std::int64_t lowest_missing() const {
    std::int64_t number = 1;
    while (numbers_.count(number) != 0) number++;
    return number;
  }

  bool remembers(const Policy &policy, const Request &request) const {
    int left = kept_ < policy.remember ? kept_ : policy.remember;
    for (auto batch = batches_.rbegin(); batch != batches_.rend() && left > 0; ++batch, left--)
      if (batch->first == request.first && batch->last == request.last) return true;
    return false;
  }

  std::int32_t registrations_ = 1;
  std::set<std::int64_t> numbers_;
  std::vector<Batch> batches_;
  int kept_ = 0;  // how many batches were never cut off by a smaller window
  Micros used_at_;
  Micros retain_;
};

}  // namespace idem::streams::model
