// Locks: decide_begin for every state of a lock's record, and random histories against a model that
// knows nothing of records but remembers every grant.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <vector>

#include "records/decision.hpp"
#include "records_model.hpp"

namespace idem::records {

namespace {

using namespace model;

constexpr std::array<Micros, 5> kGraces = {0, 1, kSoon, kSoon + 1, kForever};
constexpr std::array<Micros, 4> kDeadlines = {kNow - 1, kNow, kNow + 1, kForever};

struct Situation {
  State state;
  Micros grace;
  bool rests;
  Wait wait;
};

// Whether the lease and what is added to it reach beyond this moment.
bool lasts(const Situation &situation) {
  switch (situation.state.lease) {
    case Lease::just_over:
      return situation.grace > 0;
    case Lease::long_over:
      return situation.grace > kSoon;
    case Lease::given_to_next:
      return false;
    default:
      return true;
  }
}

bool own(const State &state) {
  return state.written_here && state.lease != Lease::given_to_next;
}

bool is_shut(const Situation &situation) {
  if (situation.state.status == Status::in_progress)
    return lasts(situation) || own(situation.state);
  return situation.rests && lasts(situation);
}

Micros retry_after(const Situation &situation) {
  const Micros lease = value_of(situation.state.lease);
  if (!lasts(situation)) return kUncommittedRetry;
  return (lease > kForever - situation.grace ? kForever : lease + situation.grace) - kNow;
}

RecordState lock_of(const Situation &situation) {
  RecordState record = record_of(situation.state, 1);
  record.grace = situation.grace;
  record.rests = situation.rests;
  return record;
}

template <typename Visit>
void for_every_lock(Visit visit) {
  for_every_state([&](const State &state) {
    for (const Micros grace : kGraces)
      for (const bool rests : kBooleans)
        for (const Micros deadline : kDeadlines)
          if (!rests || state.status == Status::released)
            visit(Situation{state, grace, rests, {true, deadline}});
  });
}

BeginVerdict decide(const Situation &situation, const Policy &policy) {
  return decide_begin(Presence::present, lock_of(situation), Fingerprints::not_compared, policy,
                      situation.wait, kNow);
}

TEST(DecideLock, IsTakenUnlessItIsShut) {
  for (const Policy &policy : {Policy{std::nullopt, false, true}, Policy{1, true, true}}) {
    for_every_lock([&](const Situation &situation) {
      const BeginVerdict verdict = decide(situation, policy);
      BeginStep expected = BeginStep::reclaim;
      if (is_shut(situation)) {
        const bool waits = situation.wait.deadline > kNow && !own(situation.state);
        expected = waits ? BeginStep::poll : BeginStep::in_progress;
      }
      ASSERT_EQ(verdict.step, expected)
          << "status " << int(situation.state.status) << " lease " << int(situation.state.lease)
          << " expiry " << int(situation.state.expiry) << " written here "
          << situation.state.written_here << " grace " << situation.grace << " rests "
          << situation.rests << " deadline " << situation.wait.deadline - kNow;
      if (expected == BeginStep::in_progress) {
        ASSERT_EQ(verdict.retry_after, retry_after(situation));
      }
    });
  }
}

TEST(DecideLock, IsLostWhenItWasNotGivenBack) {
  for_every_lock([](const Situation &situation) {
    ASSERT_EQ(lost(lock_of(situation)), situation.state.status == Status::in_progress &&
                                            situation.state.lease != Lease::given_to_next);
  });
}

TEST(DecideLock, DelayProlongsNothingForItsHolder) {
  for_every_lock([](const Situation &situation) {
    if (situation.state.status != Status::in_progress) return;
    const bool live = kRunning.holds(situation.state.lease) || own(situation.state);
    const RecordState record = lock_of(situation);
    ASSERT_EQ(decide_hold(&record, kToken, kNow), live ? TokenStep::allow : TokenStep::lease_over);
    ASSERT_EQ(decide_release(&record, kToken), TokenStep::allow);
  });
}

// One lock as the functions treat it, each call a transaction of its own: the decisions of the code
// under test, and what the store writes.
class Lock {
 public:
  std::optional<std::int64_t> take(Micros now, Micros ttl, Micros delay) {
    const Presence presence = record_ ? Presence::present : Presence::absent;
    const BeginStep step = decide_begin(presence, record_.value_or(RecordState{}),
                                        Fingerprints::not_compared, kPolicy, {true, now}, now)
                               .step;
    if (step == BeginStep::in_progress) return std::nullopt;
    EXPECT_EQ(step, record_ ? BeginStep::reclaim : BeginStep::insert);
    after_loss = record_ && lost(*record_);
    const Micros end = now + ttl + delay;
    record_ = RecordState{Status::in_progress, ++tokens_, 1, now + ttl, end, false, delay, false};
    return tokens_;
  }
  bool extend(Micros now, std::int64_t token, Micros ttl) {
    if (decide_hold(state(), token, now) != TokenStep::allow) return false;
    record_->lease_expires_at = std::max(record_->lease_expires_at, now + ttl);
    if (record_->grace > 0)
      record_->expires_at = std::max(record_->expires_at, now + ttl + record_->grace);
    return true;
  }
  TokenStep give_back(std::int64_t token) {
    const TokenStep step = decide_release(state(), token);
    if (step == TokenStep::allow) {
      record_->status = Status::released;
      record_->grace = 0;
    }
    return step;
  }
  TokenStep rest(std::int64_t token, Micros until) {
    const TokenStep step = give_back(token);
    if (step != TokenStep::allow) return step;
    record_->rests = true;
    record_->lease_expires_at = until;
    record_->expires_at = std::max(record_->expires_at, until);
    return step;
  }
  bool fence(std::int64_t token) const {
    return decide_release(state(), token) == TokenStep::allow;
  }
  // What cleanup does, by its own condition. Says whether it removed the record.
  bool clean(Micros now) {
    const bool over = record_ && record_->expires_at <= now;
    if (!over || (record_->status == Status::in_progress && record_->lease_expires_at > now))
      return false;
    record_.reset();
    return true;
  }

  bool after_loss = false;

 private:
  static constexpr Policy kPolicy = {std::nullopt, false, true};

  const RecordState *state() const { return record_ ? &*record_ : nullptr; }

  std::optional<RecordState> record_;
  std::int64_t tokens_ = 0;
};

// Everything that was ever granted, and nothing else.
struct Granted {
  std::int64_t token;
  Micros end;
  Micros delay;
  std::optional<Micros> shut_until;  // given back, and to be had from then on
};

class Memory {
 public:
  bool free(Micros now) const {
    return std::all_of(grants_.begin(), grants_.end(), [now](const Granted &grant) {
      return grant.shut_until ? *grant.shut_until <= now : grant.end + grant.delay <= now;
    });
  }
  bool is_held_by(std::int64_t token) const {
    return !grants_.empty() && grants_.back().token == token && !grants_.back().shut_until;
  }
  bool is_live(std::int64_t token, Micros now) const {
    return is_held_by(token) && grants_.back().end > now;
  }
  bool was_given_back(std::int64_t token) const {
    return !grants_.empty() && grants_.back().token == token && grants_.back().shut_until;
  }
  bool last_was_lost() const { return !grants_.empty() && !grants_.back().shut_until; }
  std::int64_t last_token() const { return grants_.empty() ? 0 : grants_.back().token; }
  Granted &last() { return grants_.back(); }
  void add(const Granted &grant) { grants_.push_back(grant); }

 private:
  std::vector<Granted> grants_;
};

class History {
 public:
  explicit History(unsigned seed) : random_(seed) {}

  void step() {
    now_ += below(4);
    const std::size_t owner = static_cast<std::size_t>(below(kOwners));
    switch (below(8)) {
      case 0:
      case 1:
      case 2:
        return take(owner);
      case 3:
        return extend(tokens_[owner]);
      case 4:
        return give_back(tokens_[owner]);
      case 5:
        return rest(tokens_[owner]);
      case 6:
        ASSERT_EQ(lock_.fence(tokens_[owner]), holds(tokens_[owner]));
        break;
      default:
        clean();
    }
  }

 private:
  static constexpr int kOwners = 4;

  Micros below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }

  // The record of a lock that was lost and then removed is nobody's.
  bool holds(std::int64_t token) const { return memory_.is_held_by(token) && !removed_; }

  void clean() {
    if (!lock_.clean(now_)) return;
    ASSERT_TRUE(memory_.free(now_));
    removed_ = true;
  }
  void take(std::size_t owner) {
    const Micros ttl = 1 + below(6);
    const Micros delay = below(2) == 0 ? 0 : below(5);
    const auto token = lock_.take(now_, ttl, delay);
    ASSERT_EQ(token.has_value(), memory_.free(now_));
    if (!token) return;
    ASSERT_GT(*token, memory_.last_token());
    ASSERT_EQ(lock_.after_loss, memory_.last_was_lost() && !removed_);
    memory_.add({*token, now_ + ttl, delay, std::nullopt});
    tokens_[owner] = *token;
    granted_at_ = now_;
    removed_ = false;
  }
  void extend(std::int64_t token) {
    const Micros ttl = 1 + below(8);
    const bool live = memory_.is_live(token, now_) && !removed_;
    ASSERT_EQ(lock_.extend(now_, token, ttl), live);
    if (live) memory_.last().end = std::max(memory_.last().end, now_ + ttl);
  }
  void give_back(std::int64_t token) { note_return(lock_.give_back(token), token, now_); }
  void rest(std::int64_t token) {
    const Micros until = granted_at_ + below(8);
    if (until <= now_) return give_back(token);
    note_return(lock_.rest(token, until), token, until);
  }
  void note_return(TokenStep step, std::int64_t token, Micros until) {
    TokenStep expected = TokenStep::stale_token;
    if (memory_.last_token() == 0 || removed_)
      expected = TokenStep::no_such_claim;
    else if (holds(token))
      expected = TokenStep::allow;
    else if (memory_.was_given_back(token))
      expected = TokenStep::given_back;
    ASSERT_EQ(step, expected);
    if (step == TokenStep::allow) memory_.last().shut_until = until;
  }

  std::mt19937 random_;
  Lock lock_;
  Memory memory_;
  std::array<std::int64_t, kOwners> tokens_ = {};
  Micros now_ = kNow;
  Micros granted_at_ = kNow;
  bool removed_ = false;
};

TEST(LockHistories, AgreeWithWhatWasGranted) {
  for (unsigned seed = 1; seed <= 2000; seed++) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    History history(seed);
    for (int i = 0; i < 200 && !testing::Test::HasFatalFailure(); i++) history.step();
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace

}  // namespace idem::records
