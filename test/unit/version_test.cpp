#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <limits>

#include "versions/decision.hpp"

namespace idem::versions {

namespace {

constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();
constexpr std::initializer_list<Mode> kModes = {Mode::where, Mode::expect, Mode::client};

bool passes(Mode mode, std::int64_t stored, std::int64_t written, std::int64_t last = kLast) {
  return judge(mode, stored, written, last) == Verdict::passes;
}

TEST(JudgeVersion, EachModeTakesItsOwnVersions) {
  for (std::int64_t stored = -3; stored <= 12; stored++)
    for (std::int64_t written = -5; written <= 15; written++) {
      const bool same = written == stored;
      const bool next = written == stored + 1;
      EXPECT_EQ(passes(Mode::where, stored, written), same || next);
      EXPECT_EQ(passes(Mode::expect, stored, written), same);
      EXPECT_EQ(passes(Mode::client, stored, written), next);
    }
}

TEST(JudgeVersion, NeverGoesBackOrJumps) {
  for (const Mode mode : kModes)
    for (const std::int64_t stored :
         {kFirst, kFirst + 1, std::int64_t{-1}, std::int64_t{0}, std::int64_t{7}, kLast - 1})
      for (const std::int64_t written :
           {kFirst, kFirst + 5, std::int64_t{-9}, std::int64_t{3}, std::int64_t{100}, kLast})
        if (written != stored && (written == kFirst || written - 1 != stored)) {
          EXPECT_EQ(judge(mode, stored, written, kLast), Verdict::stale);
        }
}

TEST(JudgeVersion, EndsWhereTheColumnEnds) {
  for (const std::int64_t last : {std::int64_t{std::numeric_limits<std::int32_t>::max()}, kLast}) {
    EXPECT_EQ(judge(Mode::where, last, last, last), Verdict::exhausted);
    EXPECT_EQ(judge(Mode::expect, last, last, last), Verdict::exhausted);
    for (const std::int64_t written : {last, last - 1, kFirst, std::int64_t{1}})
      EXPECT_EQ(judge(Mode::client, last, written, last), Verdict::exhausted);
    EXPECT_EQ(judge(Mode::where, last, last - 1, last), Verdict::stale);
    EXPECT_EQ(judge(Mode::expect, last, 1, last), Verdict::stale);
    // The last version itself can be had.
    EXPECT_TRUE(passes(Mode::where, last - 1, last - 1, last));
    EXPECT_TRUE(passes(Mode::where, last - 1, last, last));
    EXPECT_TRUE(passes(Mode::expect, last - 1, last - 1, last));
    EXPECT_TRUE(passes(Mode::client, last - 1, last, last));
  }
}

TEST(VersionMode, HasANameThatReadsBack) {
  for (const Mode mode : kModes) {
    Mode read = mode == Mode::where ? Mode::client : Mode::where;
    EXPECT_TRUE(read_mode(name_of(mode), &read));
    EXPECT_EQ(read, mode);
  }
  Mode untouched = Mode::expect;
  for (const char *name : {"", "Where", "where ", "clients", "NULL"})
    EXPECT_FALSE(read_mode(name, &untouched));
  EXPECT_EQ(untouched, Mode::expect);
}

}  // namespace

}  // namespace idem::versions
