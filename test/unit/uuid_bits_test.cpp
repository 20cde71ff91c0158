// The bits of UUIDs: the examples of RFC 9562, and properties over the range of times.

#include "ids/uuid_bits.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>

namespace idem::ids {
namespace {

constexpr std::uint64_t kAllOnes = ~std::uint64_t{0};
constexpr Nanos kMilli = 1000000;
constexpr std::array<Millis, 6> kTimes = {
    0, 1, 1735689600000, Millis{1} << 47, kLastUuidMillis - 1, kLastUuidMillis};

UuidBytes parse(const std::string &text) {
  UuidBytes uuid{};
  int digits = 0;
  for (const char c : text) {
    if (c == '-') continue;
    const int value = c <= '9' ? c - '0' : c - 'a' + 10;
    uuid[digits / 2] = static_cast<std::uint8_t>(uuid[digits / 2] << 4 | value);
    digits++;
  }
  return uuid;
}

TEST(UuidTime, ExamplesOfTheStandard) {
  const Micros expected = 1645557742000000;  // 2022-02-22 19:22:22 UTC
  EXPECT_EQ(time_of(parse("c232ab00-9414-11ec-b3c8-9f6bdeced846")), expected);
  EXPECT_EQ(time_of(parse("1ec9414c-232a-6b00-b3c8-9f6bdeced846")), expected);
  EXPECT_EQ(time_of(parse("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")), expected);
}

TEST(UuidTime, EndsOfTheRanges) {
  const Micros since_1582 = -12219292800000000;
  EXPECT_EQ(time_of(parse("00000000-0000-1000-8000-000000000000")), since_1582);
  EXPECT_EQ(time_of(parse("00000000-0000-6000-8000-000000000000")), since_1582);
  EXPECT_EQ(time_of(parse("00000009-0000-1000-8000-000000000000")), since_1582);
  EXPECT_EQ(time_of(parse("0000000a-0000-1000-8000-000000000000")), since_1582 + 1);
  EXPECT_EQ(time_of(parse("ffffffff-ffff-1fff-8000-000000000000")), 103072857660684697);
  EXPECT_EQ(time_of(parse("ffffffff-ffff-6fff-8000-000000000000")), 103072857660684697);
  EXPECT_EQ(time_of(parse("00000000-0000-7000-8000-000000000000")), 0);
  EXPECT_EQ(time_of(parse("ffffffff-ffff-7fff-bfff-ffffffffffff")), kLastUuidMillis * 1000);
}

TEST(UuidTime, OthersHaveNone) {
  for (int version = 0; version < 16; version++) {
    UuidBytes uuid = parse("017f22e2-79b0-0cc3-98c4-dc0c0c07398f");
    uuid[6] = static_cast<std::uint8_t>(version << 4);
    const bool has_time = version == 1 || version == 6 || version == 7;
    EXPECT_EQ(time_of(uuid).has_value(), has_time) << version;
    for (const int variant : {0x00, 0x40, 0xC0, 0xE0}) {
      uuid[8] = static_cast<std::uint8_t>(variant);
      EXPECT_EQ(time_of(uuid), std::nullopt) << version << " " << variant;
    }
  }
}

TEST(Uuid7, SaysItsTimeAndVersion) {
  for (const Millis time : kTimes) {
    for (const Nanos below : {Nanos{0}, Nanos{1}, kMilli / 2, kMilli - 1}) {
      for (const std::uint64_t random : {std::uint64_t{0}, kAllOnes}) {
        const UuidBytes uuid = make_uuid7(time, below, random);
        EXPECT_EQ(time_of(uuid), time * 1000);
        EXPECT_EQ(uuid[6] >> 4, 7);
        EXPECT_EQ(uuid[8] >> 6, 2);
      }
    }
  }
}

TEST(Uuid7, KeepsTheRandomBits) {
  EXPECT_EQ(make_uuid7(kLastUuidMillis, kMilli - 1, kAllOnes),
            parse("ffffffff-ffff-7fff-bfff-ffffffffffff"));
  EXPECT_EQ(make_uuid7(0, 0, 0), parse("00000000-0000-7000-8000-000000000000"));
  EXPECT_EQ(make_uuid7(0, 0, 0x0123456789abcdef), parse("00000000-0000-7000-8123-456789abcdef"));
}

TEST(Uuid7, FloorIsTheLeastOfItsMillisecond) {
  std::mt19937_64 random(4);
  for (const Millis time : kTimes) {
    const UuidBytes floor = uuid7_floor(time);
    EXPECT_LE(floor, make_uuid7(time, 0, 0));
    EXPECT_LE(floor, make_uuid7(time, static_cast<Nanos>(random() % kMilli), random()));
    if (time > 0) {
      EXPECT_GT(floor, make_uuid7(time - 1, kMilli - 1, kAllOnes));
    }
  }
}

// A step makes it greater whatever the random bits are.
TEST(Uuid7, GrowsWithEveryStep) {
  const Millis time = 1735689600000;
  for (Nanos below = 0; below + kUuidStep < kMilli; below++)
    ASSERT_LT(make_uuid7(time, below, kAllOnes), make_uuid7(time, below + kUuidStep, 0)) << below;
  EXPECT_LT(make_uuid7(time, kMilli - 1, kAllOnes), make_uuid7(time + 1, 0, 0));
}

}  // namespace
}  // namespace idem::ids
