// The layout of ids over all of its fields and their ends, and the order of ids against a model
// that remembers every id of a history.

#include "ids/layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <vector>

namespace idem::ids {
namespace {

constexpr std::array<Millis, 8> kTimes = {
    0,          1, 1000, (Millis{1} << 31) - 1, Millis{1} << 31, Millis{1} << 40, kLastMillis - 1,
    kLastMillis};
constexpr std::array<int, 6> kNodes = {0, 1, 511, 512, kLastNode - 1, kLastNode};
constexpr std::array<int, 6> kCounters = {0, 1, 2047, 2048, kLastCounter - 1, kLastCounter};

template <typename Check>
void for_all_parts(Check check) {
  for (const Millis time : kTimes)
    for (const int node : kNodes)
      for (const int counter : kCounters) check(Parts{time, node, counter});
}

void expect_equal(const Parts &a, const Parts &b) {
  EXPECT_EQ(a.time, b.time);
  EXPECT_EQ(a.node, b.node);
  EXPECT_EQ(a.counter, b.counter);
}

TEST(SnowflakeLayout, FillsABigint) {
  EXPECT_EQ(pack({0, 0, 0}), 0);
  EXPECT_EQ(pack({kLastMillis, kLastNode, kLastCounter}), INT64_MAX);
  EXPECT_EQ(pack({1, 0, 0}), Id{1} << 22);
  EXPECT_EQ(pack({0, 1, 0}), 4096);
  EXPECT_EQ(pack({0, 0, 1}), 1);
  EXPECT_EQ(kLastMillis, (Millis{1} << 41) - 1);
  EXPECT_EQ(kLastNode, 1023);
  EXPECT_EQ(kLastCounter, 4095);
}

TEST(SnowflakeLayout, UnpacksWhatItPacked) {
  for_all_parts([](const Parts &parts) {
    const Id id = pack(parts);
    EXPECT_GE(id, 0);
    expect_equal(unpack(id), parts);
  });
}

TEST(SnowflakeLayout, UnpacksEveryNumber) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; i++) {
    const Id id = static_cast<Id>(random() >> 1);
    EXPECT_EQ(pack(unpack(id)), id);
  }
}

// Time counts first, then the node, then the counter.
TEST(SnowflakeLayout, SortsByTime) {
  std::vector<Id> ids;
  for_all_parts([&](const Parts &parts) { ids.push_back(pack(parts)); });
  EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
  EXPECT_EQ(std::set<Id>(ids.begin(), ids.end()).size(), ids.size());
}

TEST(SnowflakeLayout, FloorIsTheLeastOfItsMillisecond) {
  for (const Millis time : kTimes) {
    const Id floor = floor_of(time);
    expect_equal(unpack(floor), {time, 0, 0});
    if (time > 0) {
      EXPECT_EQ(floor - 1, pack({time - 1, kLastNode, kLastCounter}));
    }
  }
  EXPECT_EQ(floor_of(-1), 0);
  EXPECT_EQ(floor_of(INT64_MIN), 0);
  EXPECT_EQ(floor_of(kLastMillis + 1), INT64_MAX);
  EXPECT_EQ(floor_of(INT64_MAX), INT64_MAX);
}

// What next_id promises, said the slow way.
std::optional<Id> model_of_next(Id last, Millis now, int node) {
  const Parts given = unpack(std::max<Id>(last, 0));
  for (Millis time = std::max(given.time, now);; time++) {
    if (time > kLastMillis) return std::nullopt;
    if (time > given.time) return pack({time, node, 0});
    for (const int counter : {0, given.counter, given.counter + 1}) {
      if (counter <= kLastCounter && pack({time, node, counter}) > std::max<Id>(last, 0))
        return pack({time, node, counter});
    }
  }
}

TEST(SnowflakeNext, IsTheFirstThatIsGreater) {
  for_all_parts([](const Parts &given) {
    const Id last = pack(given);
    for (const Millis step : {-1000000, -1, 0, 1, 1000000}) {
      for (const int node : kNodes)
        EXPECT_EQ(next_id(last, given.time + step, node),
                  model_of_next(last, given.time + step, node));
    }
  });
}

TEST(SnowflakeNext, BeginsAboveZero) {
  EXPECT_EQ(next_id(0, 0, 0), 1);
  EXPECT_EQ(next_id(0, 0, 1), pack({0, 1, 0}));
  EXPECT_EQ(next_id(0, 5, 0), pack({5, 0, 0}));
  EXPECT_EQ(next_id(0, -5, 0), 1);
  EXPECT_EQ(next_id(-1, 5, 3), pack({5, 3, 0}));
  EXPECT_EQ(next_id(INT64_MIN, 0, 3), pack({0, 3, 0}));
}

TEST(SnowflakeNext, GoesToTheNextMillisecondWhenTheCounterIsFull) {
  EXPECT_EQ(next_id(pack({7, 3, kLastCounter}), 7, 3), pack({8, 3, 0}));
  EXPECT_EQ(next_id(pack({7, 3, kLastCounter}), 0, 3), pack({8, 3, 0}));
  EXPECT_EQ(next_id(pack({7, 3, kLastCounter - 1}), 7, 3), pack({7, 3, kLastCounter}));
}

TEST(SnowflakeNext, EndsWithItsBits) {
  EXPECT_EQ(next_id(INT64_MAX, 0, kLastNode), std::nullopt);
  EXPECT_EQ(next_id(INT64_MAX - 1, 0, kLastNode), INT64_MAX);
  EXPECT_EQ(next_id(pack({kLastMillis, 5, 0}), 0, 4), std::nullopt);
  EXPECT_EQ(next_id(0, kLastMillis, 0), pack({kLastMillis, 0, 0}));
  EXPECT_EQ(next_id(0, kLastMillis + 1, 0), std::nullopt);
}

// Clocks that jump both ways, numbers of servers that change, crashes that skip what was logged.
TEST(SnowflakeNext, NeverRepeatsAndNeverDecreases) {
  std::mt19937_64 random(2);
  for (int history = 0; history < 50; history++) {
    Id last = 0;
    Millis now = static_cast<Millis>(random() % kLastMillis / 2);
    int node = kNodes[random() % kNodes.size()];
    for (int call = 0; call < 5000; call++) {
      const auto what = random() % 100;
      if (what < 10) now += static_cast<Millis>(random() % 3);
      if (what == 10) now -= static_cast<Millis>(random() % 100000);
      if (what == 11) now += static_cast<Millis>(random() % 100000);
      if (what == 12) node = kNodes[random() % kNodes.size()];
      if (what == 13) last = bound_after(last, static_cast<Millis>(random() % 200));
      const auto next = next_id(last, now, node);
      ASSERT_TRUE(next);
      ASSERT_GT(*next, last);
      ASSERT_EQ(unpack(*next).node, node);
      ASSERT_GE(unpack(*next).time, now);
      last = *next;
    }
  }
}

TEST(SnowflakeLater, IsTheSameAsOneByOne) {
  for (const int start : {0, 1, kLastCounter - 1, kLastCounter}) {
    const Id first = pack({123456, 77, start});
    Id id = first;
    for (int steps = 0; steps < 3 * (kLastCounter + 1); steps++) {
      ASSERT_EQ(later_id(first, steps), id);
      id = next_id(id, 0, 77).value();
    }
  }
}

TEST(SnowflakeLater, EndsWithItsBits) {
  EXPECT_EQ(later_id(pack({kLastMillis, 9, kLastCounter}), 0),
            pack({kLastMillis, 9, kLastCounter}));
  EXPECT_EQ(later_id(pack({kLastMillis, 9, kLastCounter}), 1), std::nullopt);
  EXPECT_EQ(later_id(pack({kLastMillis - 1, 9, kLastCounter}), 1), pack({kLastMillis, 9, 0}));
  EXPECT_EQ(later_id(pack({0, 9, 0}), 10000000), pack({10000000 / 4096, 9, 10000000 % 4096}));
}

// What is logged covers every id, of any node, for as long as it says.
TEST(SnowflakeBound, CoversWhatComes) {
  for_all_parts([](const Parts &parts) {
    const Id bound = bound_after(pack(parts), 128);
    const Millis end = std::min(parts.time + 128, kLastMillis);
    EXPECT_EQ(bound, pack({end, kLastNode, kLastCounter}));
    EXPECT_GE(bound, pack(parts));
  });
}

}  // namespace
}  // namespace idem::ids
