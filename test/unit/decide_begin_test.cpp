// decide_begin against a table of rules, for every combination of what it can be given.

#include <gtest/gtest.h>

#include <array>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "records/decision.hpp"
#include "records_model.hpp"

namespace idem::records {

namespace {

using namespace model;

enum class Cap : std::uint8_t { none, above_attempt, at_attempt, below_attempt };
enum class Patience : std::uint8_t { unbounded, past, this_moment, future, forever };
enum class Retry : std::uint8_t { nothing, rest_of_lease, a_second };

constexpr std::array kPresences = {Presence::absent, Presence::uncommitted, Presence::present};
constexpr std::array kFingerprints = {Fingerprints::not_compared, Fingerprints::equal,
                                      Fingerprints::different};
constexpr std::array kCaps = {Cap::none, Cap::above_attempt, Cap::at_attempt, Cap::below_attempt};
constexpr std::array kPatiences = {Patience::unbounded, Patience::past, Patience::this_moment,
                                   Patience::future, Patience::forever};
constexpr std::int32_t kAttempt = 3;

struct Situation {
  Presence presence;
  State state;
  Fingerprints fingerprints;
  Cap cap;
  bool hold;
  Patience patience;
};

Policy policy_of(const Situation &situation) {
  switch (situation.cap) {
    case Cap::above_attempt:
      return {kAttempt + 1, situation.hold};
    case Cap::at_attempt:
      return {kAttempt, situation.hold};
    case Cap::below_attempt:
      return {kAttempt - 1, situation.hold};
    case Cap::none:
      break;
  }
  return {std::nullopt, situation.hold};
}

Wait wait_of(Patience patience) {
  switch (patience) {
    case Patience::past:
      return {true, kNow - 1};
    case Patience::this_moment:
      return {true, kNow};
    case Patience::future:
      return {true, kNow + 1};
    case Patience::forever:
      return {true, kForever};
    case Patience::unbounded:
      break;
  }
  return {false, 0};
}

// One line of the contract. The first line whose sets hold the situation gives the answer.
struct Rule {
  const char *reason;
  Any<Presence> presence;
  Any<Status> status;
  Any<Lease> lease;
  Any<Expiry> expiry;
  Any<bool> written_here;
  Any<Fingerprints> fingerprints;
  Any<Cap> cap;
  Any<bool> hold;
  Any<Patience> patience;
  BeginStep step;
  Retry retry;

  bool covers(const Situation &s) const {
    return presence.holds(s.presence) && status.holds(s.state.status) &&
           lease.holds(s.state.lease) && expiry.holds(s.state.expiry) &&
           written_here.holds(s.state.written_here) && fingerprints.holds(s.fingerprints) &&
           cap.holds(s.cap) && hold.holds(s.hold) && patience.holds(s.patience);
  }
};

constexpr Any<Patience> kImpatient = {Patience::past, Patience::this_moment};
constexpr Any<Patience> kWilling = {Patience::future, Patience::forever};
constexpr Any<Cap> kUsedUp = {Cap::at_attempt, Cap::below_attempt};
constexpr Any<Presence> kPresent = {Presence::present};
constexpr Any<Status> kWorking = {Status::in_progress};

// clang-format off
const std::vector<Rule> kRules = {
    {"a key that was never seen is claimed",
     {Presence::absent}, {}, {}, {}, {}, {}, {}, {}, {}, BeginStep::insert, Retry::nothing},
    {"who may not wait for an open transaction is told so",
     {Presence::uncommitted}, {}, {}, {}, {}, {}, {}, {}, kImpatient, BeginStep::in_progress, Retry::a_second},
    {"who may, lets the unique index wait",
     {Presence::uncommitted}, {}, {}, {}, {}, {}, {}, {}, {}, BeginStep::insert, Retry::nothing},
    {"a key given back starts anew",
     kPresent, {Status::released}, {}, {}, {}, {}, {}, {}, {}, BeginStep::reclaim, Retry::nothing},
    {"a stored outcome is gone when it expires, even one of this transaction",
     kPresent, kSettled, {}, kPassed, {}, {}, {}, {}, {}, BeginStep::reclaim, Retry::nothing},
    {"another request is told nothing of a stored outcome",
     kPresent, kSettled, {}, {}, {}, {Fingerprints::different}, {}, {}, {}, BeginStep::mismatch, Retry::nothing},
    {"a stored outcome is replayed, whatever became of its lease and attempts",
     kPresent, kSettled, {}, {}, {}, {}, {}, {}, {}, BeginStep::replayed, Retry::nothing},
    {"abandoned work expires",
     kPresent, kWorking, kLapsed, kPassed, {false}, {}, {}, {}, {}, BeginStep::reclaim, Retry::nothing},
    {"so does work that an operator gave to the next, in that very transaction",
     kPresent, kWorking, {Lease::given_to_next}, kPassed, {}, {}, {}, {}, {}, BeginStep::reclaim, Retry::nothing},
    {"another request is told nothing of work in progress",
     kPresent, kWorking, {}, {}, {}, {Fingerprints::different}, {}, {}, {}, BeginStep::mismatch, Retry::nothing},
    {"this transaction's own claim is never waited for; its lease says how long it may take",
     kPresent, kWorking, kRunning, {}, {true}, {}, {}, {}, {}, BeginStep::in_progress, Retry::rest_of_lease},
    {"this transaction's own claim stays its own after the lease",
     kPresent, kWorking, kOverdue, {}, {true}, {}, {}, {}, {}, BeginStep::in_progress, Retry::a_second},
    {"a live claim is waited for by who said so",
     kPresent, kWorking, kRunning, {}, {}, {}, {}, {}, kWilling, BeginStep::poll, Retry::nothing},
    {"a live claim keeps everybody else out, expired or not",
     kPresent, kWorking, kRunning, {}, {}, {}, {}, {}, {}, BeginStep::in_progress, Retry::rest_of_lease},
    {"an operator's word counts more than the scope's policy",
     kPresent, kWorking, {Lease::given_to_next}, {}, {}, {}, {}, {}, {}, BeginStep::take_over, Retry::nothing},
    {"attempts are capped",
     kPresent, kWorking, kLapsed, {}, {}, {}, kUsedUp, {}, {}, BeginStep::exhausted, Retry::nothing},
    {"abandoned work waits for an operator where the scope says so",
     kPresent, kWorking, kLapsed, {}, {}, {}, {}, {true}, {}, BeginStep::held, Retry::nothing},
    {"abandoned work is taken over",
     kPresent, kWorking, kLapsed, {}, {}, {}, {}, {}, {}, BeginStep::take_over, Retry::nothing},
};
// clang-format on

const Rule &rule_for(const Situation &situation) {
  for (const Rule &rule : kRules)
    if (rule.covers(situation)) return rule;
  throw std::logic_error("the rules leave a situation open");
}

Micros retry_after(const Rule &rule, const Situation &situation) {
  switch (rule.retry) {
    case Retry::rest_of_lease:
      return value_of(situation.state.lease) - kNow;
    case Retry::a_second:
      return 1'000'000;
    case Retry::nothing:
      break;
  }
  return 0;
}

template <typename Visit>
void for_every_situation(Visit visit) {
  for_every_state([&](const State &state) {
    for (const Presence presence : kPresences)
      for (const Fingerprints fingerprints : kFingerprints)
        for (const Cap cap : kCaps)
          for (const bool hold : kBooleans)
            for (const Patience patience : kPatiences)
              if (!testing::Test::HasFatalFailure())
                visit(Situation{presence, state, fingerprints, cap, hold, patience});
  });
}

BeginVerdict decide(const Situation &situation) {
  return decide_begin(situation.presence, record_of(situation.state, kAttempt),
                      situation.fingerprints, policy_of(situation), wait_of(situation.patience),
                      kNow);
}

std::string shown(const Situation &s) {
  std::ostringstream text;
  text << "presence " << int(s.presence) << " status " << int(s.state.status) << " lease "
       << int(s.state.lease) << " expiry " << int(s.state.expiry) << " written here "
       << s.state.written_here << " fingerprints " << int(s.fingerprints) << " cap " << int(s.cap)
       << " hold " << s.hold << " patience " << int(s.patience);
  return text.str();
}

TEST(DecideBegin, FollowsTheRulesInEverySituation) {
  std::vector<bool> met(kRules.size());
  for_every_situation([&](const Situation &situation) {
    const Rule &rule = rule_for(situation);
    met[&rule - kRules.data()] = true;
    const BeginVerdict verdict = decide(situation);
    ASSERT_EQ(verdict.step, rule.step) << rule.reason << ": " << shown(situation);
    ASSERT_EQ(verdict.retry_after, retry_after(rule, situation))
        << rule.reason << ": " << shown(situation);
  });
  for (std::size_t i = 0; i < kRules.size(); i++)
    EXPECT_TRUE(met[i]) << "no situation meets the rule: " << kRules[i].reason;
}

TEST(DecideBegin, NeverTakesAClaimThatIsAlive) {
  for_every_situation([](const Situation &situation) {
    if (situation.presence != Presence::present || !kWorking.holds(situation.state.status)) return;
    if (!is_claimed(situation.state)) return;
    const BeginStep step = decide(situation).step;
    ASSERT_TRUE(step == BeginStep::in_progress || step == BeginStep::poll ||
                step == BeginStep::mismatch)
        << shown(situation);
  });
}

TEST(DecideBegin, TellsAnotherRequestNothing) {
  for_every_situation([](Situation situation) {
    if (situation.presence != Presence::present) return;
    situation.fingerprints = Fingerprints::different;
    const BeginStep other = decide(situation).step;
    ASSERT_TRUE(other == BeginStep::mismatch || other == BeginStep::reclaim) << shown(situation);
    // A mismatch is the only thing that the comparison can change.
    if (other == BeginStep::mismatch) return;
    situation.fingerprints = Fingerprints::equal;
    ASSERT_EQ(decide(situation).step, BeginStep::reclaim) << shown(situation);
  });
}

TEST(DecideBegin, TreatsEqualAndUncomparedFingerprintsAlike) {
  for_every_situation([](Situation situation) {
    situation.fingerprints = Fingerprints::equal;
    const BeginVerdict equal = decide(situation);
    situation.fingerprints = Fingerprints::not_compared;
    const BeginVerdict uncompared = decide(situation);
    ASSERT_EQ(equal.step, uncompared.step) << shown(situation);
    ASSERT_EQ(equal.retry_after, uncompared.retry_after) << shown(situation);
  });
}

TEST(DecideBegin, PollsOnlyBeforeTheDeadlineAndNeverForItself) {
  for_every_situation([](const Situation &situation) {
    if (decide(situation).step != BeginStep::poll) return;
    ASSERT_TRUE(kWilling.holds(situation.patience)) << shown(situation);
    ASSERT_FALSE(situation.state.written_here) << shown(situation);
  });
}

TEST(DecideBegin, SaysWhenToRetryOnlyWithInProgress) {
  for_every_situation([](const Situation &situation) {
    const BeginVerdict verdict = decide(situation);
    if (verdict.step == BeginStep::in_progress)
      ASSERT_GT(verdict.retry_after, 0) << shown(situation);
    else
      ASSERT_EQ(verdict.retry_after, 0) << shown(situation);
  });
}

RecordState working_until(Micros lease_expires_at, Micros expires_at) {
  return {Status::in_progress, kToken, 1, lease_expires_at, expires_at, false};
}

BeginVerdict decide_at(const RecordState &record, Micros now) {
  return decide_begin(Presence::present, record, Fingerprints::equal, {std::nullopt, false},
                      {false, 0}, now);
}

TEST(DecideBegin, LeaseIsOverAtItsLastMicrosecond) {
  const RecordState record = working_until(1000, kForever);
  EXPECT_EQ(decide_at(record, 999).step, BeginStep::in_progress);
  EXPECT_EQ(decide_at(record, 999).retry_after, 1);
  EXPECT_EQ(decide_at(record, 1000).step, BeginStep::take_over);
  EXPECT_EQ(decide_at(record, 1001).step, BeginStep::take_over);
  EXPECT_FALSE(lease_over(record, 999));
  EXPECT_TRUE(lease_over(record, 1000));
}

TEST(DecideBegin, RecordExpiresAtItsLastMicrosecond) {
  const RecordState record = {Status::finished, kToken, 1, 500, 1000, false};
  EXPECT_EQ(decide_at(record, 999).step, BeginStep::replayed);
  EXPECT_EQ(decide_at(record, 1000).step, BeginStep::reclaim);
  EXPECT_FALSE(expired(record, 999));
  EXPECT_TRUE(expired(record, 1000));
}

TEST(DecideBegin, LeaseOutlivesExpiry) {
  const RecordState record = working_until(1000, 500);
  EXPECT_FALSE(expired(record, 999));
  EXPECT_EQ(decide_at(record, 999).step, BeginStep::in_progress);
  EXPECT_TRUE(expired(record, 1000));
  EXPECT_EQ(decide_at(record, 1000).step, BeginStep::reclaim);
}

TEST(DecideBegin, ExpiryOutlivesLease) {
  const RecordState record = working_until(500, 1000);
  EXPECT_EQ(decide_at(record, 999).step, BeginStep::take_over);
  EXPECT_EQ(decide_at(record, 1000).step, BeginStep::reclaim);
}

TEST(DecideBegin, FirstAttemptIsTheOnlyOneUnderACapOfOne) {
  RecordState record = working_until(500, kForever);
  const auto decide_with_cap = [&](std::int32_t cap) {
    return decide_begin(Presence::present, record, Fingerprints::equal, {cap, false}, {false, 0},
                        1000)
        .step;
  };
  EXPECT_EQ(decide_with_cap(1), BeginStep::exhausted);
  EXPECT_EQ(decide_with_cap(2), BeginStep::take_over);
  record.attempt = 2;
  EXPECT_EQ(decide_with_cap(2), BeginStep::exhausted);
}

}  // namespace

}  // namespace idem::records
