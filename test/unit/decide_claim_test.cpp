// What owners and operators may do with a claim, for every state of its record.

#include <gtest/gtest.h>

#include "records/decision.hpp"
#include "records_model.hpp"

namespace idem::records {

namespace {

using namespace model;

constexpr std::int64_t kOtherToken = kToken + 1;

template <typename Visit>
void for_every_claim(Visit visit) {
  for_every_state([&](const State &state) {
    if (testing::Test::HasFatalFailure()) return;
    const RecordState record = record_of(state, 1);
    SCOPED_TRACE(testing::Message()
                 << "status " << int(state.status) << " lease " << int(state.lease) << " expiry "
                 << int(state.expiry) << " written here " << state.written_here);
    visit(state, record);
  });
}

TEST(DecideSettle, NeedsARecord) {
  for (const bool same : kBooleans)
    EXPECT_EQ(decide_settle(nullptr, kToken, same), TokenStep::no_such_claim);
}

TEST(DecideSettle, NeedsTheCurrentToken) {
  for_every_claim([](const State &, const RecordState &record) {
    for (const bool same : kBooleans)
      ASSERT_EQ(decide_settle(&record, kOtherToken, same), TokenStep::stale_token);
  });
}

// A lease that ran out and a record that expired change nothing: nobody else has taken the key.
TEST(DecideSettle, AcceptsTheOwnerOnce) {
  for_every_claim([](const State &state, const RecordState &record) {
    for (const bool same : kBooleans) {
      TokenStep expected = same ? TokenStep::already : TokenStep::other_result;
      if (state.status == Status::in_progress) expected = TokenStep::allow;
      if (state.status == Status::released) expected = TokenStep::given_back;
      ASSERT_EQ(decide_settle(&record, kToken, same), expected);
    }
  });
}

TEST(DecideHold, NeedsARecordAndItsToken) {
  EXPECT_EQ(decide_hold(nullptr, kToken, kNow), TokenStep::no_such_claim);
  for_every_claim([](const State &, const RecordState &record) {
    ASSERT_EQ(decide_hold(&record, kOtherToken, kNow), TokenStep::stale_token);
  });
}

TEST(DecideHold, NeedsALiveLeaseOrTheTransactionThatWrote) {
  for_every_claim([](const State &state, const RecordState &record) {
    TokenStep expected = is_claimed(state) ? TokenStep::allow : TokenStep::lease_over;
    if (state.status == Status::released) expected = TokenStep::given_back;
    if (kSettled.holds(state.status)) expected = TokenStep::settled;
    ASSERT_EQ(decide_hold(&record, kToken, kNow), expected);
  });
}

TEST(DecideHold, LeaseIsOverAtItsLastMicrosecond) {
  const RecordState record = {Status::in_progress, kToken, 1, 1000, kForever, false};
  EXPECT_EQ(decide_hold(&record, kToken, 999), TokenStep::allow);
  EXPECT_EQ(decide_hold(&record, kToken, 1000), TokenStep::lease_over);
}

TEST(DecideRelease, NeedsARecordAndItsToken) {
  EXPECT_EQ(decide_release(nullptr, kToken), TokenStep::no_such_claim);
  for_every_claim([](const State &, const RecordState &record) {
    ASSERT_EQ(decide_release(&record, kOtherToken), TokenStep::stale_token);
  });
}

TEST(DecideRelease, GivesBackWorkInProgressOnly) {
  for_every_claim([](const State &state, const RecordState &record) {
    TokenStep expected = TokenStep::settled;
    if (state.status == Status::in_progress) expected = TokenStep::allow;
    if (state.status == Status::released) expected = TokenStep::given_back;
    ASSERT_EQ(decide_release(&record, kToken), expected);
  });
}

TEST(DecideResolve, DecidesAbandonedWorkOnly) {
  EXPECT_EQ(decide_resolve(nullptr, kNow), OperatorStep::no_such_record);
  for_every_claim([](const State &state, const RecordState &record) {
    OperatorStep expected = OperatorStep::settled;
    if (state.status == Status::in_progress)
      expected = kLapsed.holds(state.lease) ? OperatorStep::allow : OperatorStep::still_working;
    ASSERT_EQ(decide_resolve(&record, kNow), expected);
  });
}

TEST(DecideForget, SparesALiveClaimUnlessForced) {
  for (const bool force : kBooleans)
    EXPECT_EQ(decide_forget(nullptr, kNow, force), OperatorStep::no_such_record);
  for_every_claim([](const State &state, const RecordState &record) {
    const bool live = state.status == Status::in_progress && kRunning.holds(state.lease);
    ASSERT_EQ(decide_forget(&record, kNow, false),
              live ? OperatorStep::still_working : OperatorStep::allow);
    ASSERT_EQ(decide_forget(&record, kNow, true), OperatorStep::allow);
  });
}

TEST(Expired, IsPassedAndNotAtWork) {
  for_every_claim([](const State &state, const RecordState &record) {
    const bool at_work = state.status == Status::in_progress && is_claimed(state);
    ASSERT_EQ(expired(record, kNow), kPassed.holds(state.expiry) && !at_work);
  });
}

}  // namespace

}  // namespace idem::records
