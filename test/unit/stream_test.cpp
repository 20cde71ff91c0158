#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "stream_model.hpp"
#include "streams/decision.hpp"

namespace idem::streams {
namespace {

constexpr Micros kNow = 800'000'000'000'000;
constexpr Micros kHour = 3'600'000'000;
constexpr std::int64_t kLast = INT64_MAX;

ProducerState producer(std::int64_t last_seq) {
  return {1, last_seq, kNow + kHour};
}

Policy strict() {
  return {};
}

Policy monotonic() {
  return {Mode::monotonic, 5, false};
}

Verdict decide(const ProducerState &state, const std::vector<Batch> &recent, const Policy &policy,
               std::int64_t first, std::int64_t last) {
  return decide_accept(state, {recent.data(), static_cast<int>(recent.size())}, policy,
                       {state.epoch, first, last}, kNow);
}

TEST(StreamDecision, NewProducerStartsAtOne) {
  EXPECT_EQ(decide(producer(0), {}, strict(), 1, 1).step, Step::accept);
  const Verdict gap = decide(producer(0), {}, strict(), 2, 2);
  EXPECT_EQ(gap.step, Step::gap);
  EXPECT_EQ(gap.first_new, 1);
  EXPECT_EQ(decide(producer(0), {}, monotonic(), 2, 2).step, Step::accept);
}

TEST(StreamDecision, OverlapSaysWhereTheNewPartBegins) {
  const Verdict refused = decide(producer(5), {{1, 5}}, strict(), 4, 8);
  EXPECT_EQ(refused.step, Step::overlap);
  EXPECT_EQ(refused.first_new, 6);
  const Verdict accepted = decide(producer(5), {{1, 5}}, monotonic(), 4, 8);
  EXPECT_EQ(accepted.step, Step::accept);
  EXPECT_EQ(accepted.first_new, 6);
}

TEST(StreamDecision, DuplicateIsFoundExactlyInTheWindow) {
  const std::vector<Batch> recent = {{1, 2}, {3, 3}, {4, 6}};
  EXPECT_EQ(decide(producer(6), recent, strict(), 3, 3).place, 1);
  EXPECT_EQ(decide(producer(6), recent, strict(), 4, 5).place, -1);
  EXPECT_EQ(decide(producer(6), recent, strict(), 4, 5).step, Step::duplicate);
  Policy narrow = strict();
  narrow.remember = 1;
  EXPECT_EQ(decide(producer(6), recent, narrow, 3, 3).place, -1);
  narrow.refuse_too_old = true;
  EXPECT_EQ(decide(producer(6), recent, narrow, 3, 3).step, Step::too_old);
  EXPECT_EQ(decide(producer(6), recent, narrow, 4, 6).step, Step::duplicate);
}

TEST(StreamDecision, TheRightEpochComesFirst) {
  ProducerState state = {3, 5, kNow};
  EXPECT_EQ(decide_epoch(state, 2, kNow), Step::fenced);
  EXPECT_EQ(decide_epoch(state, 4, kNow), Step::unknown_epoch);
  EXPECT_EQ(decide_epoch(state, 0, kNow), Step::unknown_epoch);
  EXPECT_EQ(decide_epoch(state, -1, kNow), Step::unknown_epoch);
  EXPECT_EQ(decide_epoch(state, 3, kNow), Step::expired);
  EXPECT_EQ(decide_epoch(state, 3, kNow - 1), Step::accept);
}

TEST(StreamDecision, TheLastNumbersThereAre) {
  EXPECT_EQ(decide(producer(kLast - 1), {}, strict(), kLast, kLast).step, Step::accept);
  EXPECT_EQ(decide(producer(kLast), {}, strict(), kLast, kLast).step, Step::duplicate);
  EXPECT_EQ(decide(producer(0), {}, strict(), 1, kLast).step, Step::accept);
  const Verdict gap = decide(producer(5), {}, strict(), kLast, kLast);
  EXPECT_EQ(gap.step, Step::gap);
  EXPECT_EQ(gap.first_new, 6);
  const Verdict rest = decide(producer(kLast - 1), {}, monotonic(), 1, kLast);
  EXPECT_EQ(rest.step, Step::accept);
  EXPECT_EQ(rest.first_new, kLast);
}

TEST(StreamDecision, WhatAnOpenTransactionCanChangeIsNotFinal) {
  for (const Step step : {Step::gap, Step::overlap, Step::unknown_epoch, Step::expired})
    EXPECT_FALSE(is_final(step));
  for (const Step step : {Step::duplicate, Step::too_old, Step::fenced})
    EXPECT_TRUE(is_final(step));
}

TEST(StreamDecision, TheLatestBatchThatBeginsWithANumber) {
  const std::vector<Batch> recent = {{3, 5}, {3, 8}, {9, 9}};
  EXPECT_EQ(find_batch({recent.data(), 3}, monotonic(), 3), 1);
  EXPECT_EQ(find_batch({recent.data(), 3}, monotonic(), 4), -1);
  EXPECT_EQ(find_batch({recent.data(), 3}, {Mode::monotonic, 1, false}, 3), -1);
  EXPECT_EQ(find_batch({recent.data(), 3}, {Mode::monotonic, 0, false}, 9), -1);
}

TEST(StreamDecision, ExpiryMovesRarelyAndNeverTooShort) {
  std::mt19937_64 random(7);
  for (const Micros retain : {Micros{1}, Micros{7}, kHour, 24 * kHour * 365}) {
    Micros now = kNow;
    Micros expires_at = now;
    int moves = 0;
    constexpr int kUses = 1000;
    for (int use = 0; use < kUses; use++) {
      now += static_cast<Micros>(random() % static_cast<std::uint64_t>(retain / 100 + 1));
      const Micros before = expires_at;
      expires_at = keep_until(expires_at, retain, now);
      moves += expires_at != before ? 1 : 0;
      ASSERT_GE(expires_at, now + retain);
      ASSERT_LE(expires_at, now + retain + retain / 10);
    }
    if (retain > 1000) {
      EXPECT_LT(moves, kUses / 15);
    }
  }
  EXPECT_EQ(keep_until(kNow, kForever, kNow), kForever);
  EXPECT_EQ(keep_until(kForever, kForever, kNow), kForever);
  EXPECT_EQ(keep_until(kForever, kHour, kNow), kNow + kHour + kHour / 10);
  EXPECT_EQ(keep_until(0, kForever / 2, kForever / 2 + 2), kForever);
}

// One history: the code under test, with the window as the store keeps it, beside the model.
class Walk {
 public:
  explicit Walk(std::uint64_t seed)
      : random_(seed), history_(kNow, kHour), state_{1, 0, keep_until(kNow, kHour, kNow)} {
    change_policy();
  }

  void step() {
    now_ += below(10) == 0 ? kHour / 3 * below(4) : below(1000);
    switch (below(20)) {
      case 0:
        register_again();
        break;
      case 1:
        change_policy();
        break;
      default:
        send();
    }
  }

  int accepted() const { return accepted_; }
  int duplicates() const { return duplicates_; }

 private:
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(limit));
  }

  void register_again() {
    state_.epoch++;
    state_.expires_at = keep_until(state_.expires_at, kHour, now_);
    history_.register_again(now_);
  }

  void change_policy() {
    policy_.mode = below(2) == 0 ? Mode::strict : Mode::monotonic;
    policy_.remember = static_cast<std::int32_t>(below(7));
    policy_.refuse_too_old = below(3) == 0;
    history_.forgive();
  }

  Request request() {
    Request request;
    request.epoch =
        below(15) == 0 ? state_.epoch + static_cast<std::int32_t>(below(4)) - 2 : state_.epoch;
    const bool next = below(2) == 0;
    request.first =
        next ? state_.last_seq + 1 : std::max<std::int64_t>(1, state_.last_seq + 4 - below(14));
    request.last = request.first + below(4);
    if (!window_.empty() && below(4) == 0) {
      const Batch &batch =
          window_[static_cast<std::size_t>(below(static_cast<std::int64_t>(window_.size())))];
      request.first = batch.first;
      request.last = batch.last;
    }
    return request;
  }

  void send() {
    if (policy_.mode == Mode::monotonic) history_.forgive();
    const Request sent = request();
    const Verdict verdict = decide_accept(
        state_, {window_.data(), static_cast<int>(window_.size())}, policy_, sent, now_);
    if (verdict.step == Step::expired) {
      ASSERT_FALSE(history_.alive(now_));
      register_again();
      return;
    }
    const model::History::Answer expected = history_.answer(policy_, sent);
    ASSERT_EQ(verdict.step, expected.step);
    if (expected.step != Step::fenced && expected.step != Step::unknown_epoch) {
      ASSERT_FALSE(history_.dead(now_));
    }
    if (verdict.step == Step::accept) accept(sent, verdict, expected);
    if (verdict.step == Step::gap || verdict.step == Step::overlap) {
      ASSERT_EQ(verdict.first_new, expected.first_new);
    }
    if (verdict.step == Step::duplicate) recognise(sent, verdict, expected);
  }

  void accept(const Request &sent, const Verdict &verdict, const model::History::Answer &expected) {
    ASSERT_EQ(verdict.first_new, expected.first_new);
    history_.accept(policy_, sent, verdict.first_new);
    state_.last_seq = sent.last;
    window_.push_back({sent.first, sent.last});
    while (window_.size() > static_cast<std::size_t>(policy_.remember))
      window_.erase(window_.begin());
    ASSERT_EQ(state_.last_seq, history_.greatest());
    accepted_++;
    prolong();
  }

  void recognise(const Request &sent, const Verdict &verdict,
                 const model::History::Answer &expected) {
    ASSERT_EQ(verdict.place >= 0, expected.remembered);
    if (verdict.place >= 0) {
      const Batch &batch = window_.at(static_cast<std::size_t>(verdict.place));
      ASSERT_EQ(batch.first, sent.first);
      ASSERT_EQ(batch.last, sent.last);
    }
    duplicates_++;
    prolong();
  }

  void prolong() {
    state_.expires_at = keep_until(state_.expires_at, kHour, now_);
    history_.use(now_);
  }

  std::mt19937_64 random_;
  model::History history_;
  ProducerState state_;
  Policy policy_;
  std::vector<Batch> window_;
  Micros now_ = kNow;
  int accepted_ = 0;
  int duplicates_ = 0;
};

TEST(StreamDecision, AgreesWithOneWhoForgetsNothing) {
  int accepted = 0;
  int duplicates = 0;
  for (std::uint64_t seed = 1; seed <= 1000; seed++) {
    SCOPED_TRACE(seed);
    Walk walk(seed);
    for (int step = 0; step < 150; step++) {
      walk.step();
      if (testing::Test::HasFatalFailure()) return;
    }
    accepted += walk.accepted();
    duplicates += walk.duplicates();
  }
  // Not a walk in which nothing happens.
  EXPECT_GT(accepted, 30000);
  EXPECT_GT(duplicates, 10000);
}

TEST(StreamDecision, SingleNumbersAreEachNewOnce) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 5000; round++) {
    const auto last = static_cast<std::int64_t>(random() % 6);
    std::vector<std::int64_t> numbers;
    for (std::int64_t number = 1; number <= 10; number++)
      if (random() % 2 == 0) numbers.push_back(number);
    Policy policy = random() % 2 == 0 ? strict() : monotonic();
    policy.refuse_too_old = random() % 3 == 0;
    const std::vector<Batch> recent =
        last > 1 ? std::vector<Batch>{{2, last}} : std::vector<Batch>{};
    const Selection selection =
        select_new(producer(last), {recent.data(), static_cast<int>(recent.size())}, policy,
                   numbers.data(), numbers.size());

    std::vector<std::int64_t> fresh;
    bool old = false;
    for (const std::int64_t number : numbers) {
      if (number > last) fresh.push_back(number);
      if (number <= last && (recent.empty() || number < 2)) old = true;
    }
    std::int64_t missing = 0;
    for (std::int64_t number = last + 1; !fresh.empty() && number < fresh.back(); number++)
      if (missing == 0 && std::find(fresh.begin(), fresh.end(), number) == fresh.end())
        missing = number;

    if (old && policy.refuse_too_old) {
      ASSERT_EQ(selection.step, Step::too_old);
    } else if (fresh.empty()) {
      ASSERT_EQ(selection.step, Step::duplicate);
    } else if (missing != 0 && policy.mode == Mode::strict) {
      ASSERT_EQ(selection.step, Step::gap);
      ASSERT_EQ(selection.missing, missing);
      ASSERT_EQ(numbers[selection.place], *std::upper_bound(fresh.begin(), fresh.end(), missing));
    } else {
      ASSERT_EQ(selection.step, Step::accept);
      ASSERT_TRUE(std::equal(fresh.begin(), fresh.end(),
                             numbers.begin() + static_cast<std::ptrdiff_t>(selection.place)));
      ASSERT_EQ(fresh.size(), numbers.size() - selection.place);
    }
  }
}

TEST(StreamDecision, NoNumbersAreNoNews) {
  EXPECT_EQ(select_new(producer(3), {nullptr, 0}, strict(), nullptr, 0).step, Step::duplicate);
  Policy refuse = strict();
  refuse.refuse_too_old = true;
  EXPECT_EQ(select_new(producer(3), {nullptr, 0}, refuse, nullptr, 0).step, Step::duplicate);
  const std::vector<std::int64_t> end = {kLast};
  EXPECT_EQ(select_new(producer(kLast - 1), {nullptr, 0}, strict(), end.data(), 1).step,
            Step::accept);
  EXPECT_EQ(select_new(producer(kLast), {nullptr, 0}, strict(), end.data(), 1).step,
            Step::duplicate);
}

}  // namespace
}  // namespace idem::streams
