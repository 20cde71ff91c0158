// Times of day against a model that knows every minute, and the delays against tables.

#include "cleanup/schedule.hpp"

#include <gtest/gtest.h>

#include <array>
#include <climits>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "server/error.hpp"

namespace idem::cleanup {

// Found by the tests' comparisons and messages.
bool operator==(const Window &a, const Window &b) {
  return a.from == b.from && a.to == b.to;
}

void PrintTo(const Window &window, std::ostream *out) {
  *out << window.from << " to " << window.to;
}

namespace {

constexpr int kDayMinutes = 24 * 60;
constexpr Micros kMinute = 60 * kSecond;
constexpr Micros kHour = 60 * kMinute;
constexpr Micros kDay = 24 * kHour;

// Within a minute: its start, its middle, its last microsecond.
constexpr std::array<Micros, 3> kOffsets = {0, 30 * kSecond, kMinute - 1};

// Which minutes of the day are open.
class Model {
 public:
  explicit Model(const std::vector<Window> &windows) {
    for (const Window &window : windows) {
      // An end of 24:00 is the first minute that is not in the window, as every other end.
      int minute = window.from;
      do {
        open_[static_cast<std::size_t>(minute)] = true;
        minute = (minute + 1) % kDayMinutes;
      } while (minute != window.to % kDayMinutes);
    }
  }

  std::optional<Micros> open_for(int minute, Micros offset) const {
    if (!open(minute)) return {};
    const int minutes = count(minute, true);
    return minutes == kDayMinutes ? kDay : minutes * kMinute - offset;
  }

  Micros opens_in(int minute, Micros offset) const {
    return open(minute) ? 0 : count(minute, false) * kMinute - offset;
  }

 private:
  bool open(int minute) const { return open_[static_cast<std::size_t>(minute % kDayMinutes)]; }

  // How many minutes from this one on are alike.
  int count(int minute, bool state) const {
    int minutes = 0;
    while (minutes < kDayMinutes && open(minute + minutes) == state) minutes++;
    return minutes;
  }

  std::array<bool, kDayMinutes> open_ = {};
};

void expect_as_modelled(const std::vector<Window> &windows) {
  const Model model(windows);
  for (int minute = 0; minute < kDayMinutes; minute++) {
    for (const Micros offset : kOffsets) {
      const Micros time = minute * kMinute + offset;
      ASSERT_EQ(open_for(windows, time), model.open_for(minute, offset)) << minute << ' ' << offset;
      ASSERT_EQ(opens_in(windows, time), model.opens_in(minute, offset)) << minute << ' ' << offset;
    }
  }
}

struct Text {
  const char *text;
  std::vector<Window> windows;
};

TEST(ScheduleWindows, AreRead) {
  const std::vector<Text> texts = {
      {"", {}},
      {" \t\r\n ", {}},
      {"01:00-05:00", {{60, 300}}},
      {"1:00-5:00", {{60, 300}}},
      {"01:00-5:00", {{60, 300}}},
      {"  01:00 -\t05:00\n", {{60, 300}}},
      {"01:00-05:00, 22:30-24:00", {{60, 300}, {1350, 1440}}},
      {"01:00-05:00,22:30-24:00", {{60, 300}, {1350, 1440}}},
      {"00:00-24:00", {{0, 1440}}},
      {"0:00-0:01", {{0, 1}}},
      {"23:59-24:00", {{1439, 1440}}},
      {"23:59-00:00", {{1439, 0}}},
      {"22:00-02:00", {{1320, 120}}},
      {"12:00-11:59", {{720, 719}}},
      {"01:00-02:00, 01:00-02:00", {{60, 120}, {60, 120}}},
      {"03:00-04:00, 01:00-02:00", {{180, 240}, {60, 120}}},
  };
  for (const Text &each : texts) EXPECT_EQ(parse_windows(each.text), each.windows) << each.text;
}

struct Malformed {
  const char *text;
  const char *window;  // the one at which the message points
};

TEST(ScheduleWindows, AreRefusedWithAnExample) {
  const std::vector<Malformed> texts = {
      {"always", "always"},
      {"01:00", "01:00"},
      {"01:00-", "01:00-"},
      {"-05:00", "-05:00"},
      {"-", "-"},
      {"--", "--"},
      {"01:00-05:00-06:00", "01:00-05:00-06:00"},
      {"01:00..05:00", "01:00..05:00"},
      {"01:00 05:00", "01:00 05:00"},
      {"01:00\xe2\x80\x93"
       "05:00",
       "01:00\xe2\x80\x93"
       "05:00"},
      {"1-5", "1-5"},
      {"01-05", "01-05"},
      {"0100-0500", "0100-0500"},
      {":00-05:00", ":00-05:00"},
      {"01:-05:00", "01:-05:00"},
      {"001:00-05:00", "001:00-05:00"},
      {"01:0-05:00", "01:0-05:00"},
      {"01:000-05:00", "01:000-05:00"},
      {"01:00:00-05:00:00", "01:00:00-05:00:00"},
      {"01.00-05.00", "01.00-05.00"},
      {"0x:00-05:00", "0x:00-05:00"},
      {"01:0x-05:00", "01:0x-05:00"},
      {"+1:00-05:00", "+1:00-05:00"},
      {"01:+1-05:00", "01:+1-05:00"},
      {"0 1:00-05:00", "0 1:00-05:00"},
      {"01: 00-05:00", "01: 00-05:00"},
      {"01:00-05:00 UTC", "01:00-05:00 UTC"},
      {"1:00am-5:00am", "1:00am-5:00am"},
      {"01:60-05:00", "01:60-05:00"},
      {"01:99-05:00", "01:99-05:00"},
      {"25:00-05:00", "25:00-05:00"},
      {"01:00-24:01", "01:00-24:01"},
      {"01:00-99:59", "01:00-99:59"},
      // 24:00 is an end and no start, and a window of no or of all time is written otherwise.
      {"24:00-01:00", "24:00-01:00"},
      {"24:00-24:00", "24:00-24:00"},
      {"05:00-05:00", "05:00-05:00"},
      {"00:00-00:00", "00:00-00:00"},
      {",", ""},
      {"01:00-05:00,", ""},
      {",01:00-05:00", ""},
      {"01:00-05:00,,22:30-24:00", ""},
      {"01:00-05:00; 22:30-24:00", "01:00-05:00; 22:30-24:00"},
      {"01:00-05:00, 9-17", "9-17"},
      {"01:00-05:00,  mornings ", "mornings"},
  };
  for (const Malformed &each : texts) {
    try {
      (void)parse_windows(each.text);
      ADD_FAILURE() << '"' << each.text << "\" was accepted";
    } catch (const Error &error) {
      EXPECT_STREQ(error.code(), sqlstate::kBadArgument);
      EXPECT_EQ(error.what(), '"' + std::string(each.window) + "\" is not a time window");
      EXPECT_STREQ(error.detail(), "A window is two times of day from 00:00 to 24:00.");
      EXPECT_STREQ(error.hint(),
                   "Write for example '01:00-05:00', or '01:00-05:00, 22:30-24:00' for two.");
    }
  }
}

TEST(ScheduleWindows, OfNoneAreAlwaysOpen) {
  for (const Micros time : {Micros{0}, 12 * kHour, kDay - 1}) {
    EXPECT_EQ(open_for({}, time), kDay);
    EXPECT_EQ(opens_in({}, time), 0);
  }
}

TEST(ScheduleWindows, OpenAndCloseToTheMicrosecond) {
  const std::vector<Window> night = parse_windows("22:00-02:00");
  EXPECT_EQ(open_for(night, 22 * kHour - 1), std::nullopt);
  EXPECT_EQ(opens_in(night, 22 * kHour - 1), 1);
  EXPECT_EQ(open_for(night, 22 * kHour), 4 * kHour);
  EXPECT_EQ(open_for(night, kDay - 1), 2 * kHour + 1);
  EXPECT_EQ(open_for(night, 0), 2 * kHour);
  EXPECT_EQ(open_for(night, 2 * kHour - 1), 1);
  EXPECT_EQ(open_for(night, 2 * kHour), std::nullopt);
  EXPECT_EQ(opens_in(night, 2 * kHour), 20 * kHour);
}

TEST(ScheduleWindows, MeetAndOverlap) {
  // Each begins where another ends, in no order, round midnight.
  const std::vector<Window> chain = parse_windows("02:00-04:00, 23:00-01:00, 01:00-02:00");
  EXPECT_EQ(open_for(chain, 23 * kHour), 5 * kHour);
  EXPECT_EQ(open_for(chain, 1 * kHour), 3 * kHour);
  const std::vector<Window> overlap = parse_windows("01:00-03:00, 02:00-02:30, 02:59-06:00");
  EXPECT_EQ(open_for(overlap, 1 * kHour), 5 * kHour);
  // Together they leave out nothing.
  const std::vector<Window> all_day = parse_windows("18:00-06:00, 06:00-18:00");
  EXPECT_EQ(open_for(all_day, 7 * kHour), kDay);
  EXPECT_EQ(open_for(all_day, 17 * kHour + 1), kDay);
  EXPECT_EQ(open_for(parse_windows("00:00-24:00"), kDay - 1), kDay);
}

TEST(ScheduleWindows, AgreeWithTheModelAtEveryMinute) {
  for (const char *text :
       {"01:00-05:00", "00:00-24:00", "00:00-00:01", "23:59-24:00", "23:59-00:00", "23:59-00:01",
        "22:00-02:00", "12:00-11:59", "18:00-06:00, 06:00-18:00", "20:00-24:00, 00:00-04:00",
        "01:00-05:00, 22:30-24:00", "01:00-03:00, 03:01-05:00", "01:00-05:00, 02:00-03:00",
        "06:00-05:59, 05:59-06:00", "23:00-01:00, 00:30-02:00, 01:30-03:00"}) {
    SCOPED_TRACE(text);
    expect_as_modelled(parse_windows(text));
  }
}

TEST(ScheduleWindows, AgreeWithTheModelWhateverTheyAre) {
  std::mt19937 random(20240229);
  for (int round = 0; round < 100; round++) {
    std::vector<Window> windows;
    for (unsigned i = 0; i < 1 + random() % 4; i++) {
      const int from = static_cast<int>(random() % kDayMinutes);
      const int length = static_cast<int>(1 + random() % (kDayMinutes - 1));
      windows.push_back({from, (from + length) % kDayMinutes});
    }
    SCOPED_TRACE(testing::PrintToString(windows));
    expect_as_modelled(windows);
    if (HasFatalFailure()) return;
  }
}

struct BackOff {
  int failures;
  Micros naptime;
  Micros delay;
};

TEST(ScheduleBackOff, DoublesUpToAnHourOrANaptime) {
  constexpr Micros kNaptime = 60 * kSecond;
  for (const BackOff &each : std::vector<BackOff>{
           {INT_MIN, kNaptime, 0},
           {-1, kNaptime, 0},
           {0, kNaptime, 0},
           {1, kNaptime, kNaptime},
           {2, kNaptime, 2 * kNaptime},
           {3, kNaptime, 4 * kNaptime},
           {6, kNaptime, 32 * kNaptime},
           {7, kNaptime, kHour},
           {8, kNaptime, kHour},
           {INT_MAX, kNaptime, kHour},
           {1, kSecond, kSecond},
           {12, kSecond, 2048 * kSecond},
           {13, kSecond, kHour},
           {64, kSecond, kHour},
           {1, 50 * kMinute, 50 * kMinute},
           {2, 50 * kMinute, kHour},
           {1, kHour, kHour},
           {2, kHour, kHour},
           {1, kDay, kDay},
           {2, kDay, kDay},
           {INT_MAX, kDay, kDay},
       })
    EXPECT_EQ(back_off(each.failures, each.naptime), each.delay)
        << each.failures << " failures, naptime " << each.naptime;
}

TEST(ScheduleBackOff, NeverShrinks) {
  for (const Micros naptime : {kSecond, 7 * kSecond, kMinute, kHour - 1, kHour + 1, kDay})
    for (int failures = 0; failures < 100; failures++)
      EXPECT_LE(back_off(failures, naptime), back_off(failures + 1, naptime))
          << failures << " failures, naptime " << naptime;
}

TEST(ScheduleNextVisit, IsWithTheNextExpiryFromOneNaptimeToTen) {
  constexpr Micros kNow = 800000000 * kSecond;
  constexpr Micros kNaptime = kMinute;
  struct Expiry {
    std::optional<Micros> at;
    Micros visit;
  };
  for (const Expiry &each : std::vector<Expiry>{
           {{}, kNow + 10 * kNaptime},
           {INT64_MIN, kNow + kNaptime},
           {kNow - kDay, kNow + kNaptime},
           {kNow, kNow + kNaptime},
           {kNow + kNaptime - 1, kNow + kNaptime},
           {kNow + kNaptime, kNow + kNaptime},
           {kNow + kNaptime + 1, kNow + kNaptime + 1},
           {kNow + 5 * kNaptime, kNow + 5 * kNaptime},
           {kNow + 10 * kNaptime, kNow + 10 * kNaptime},
           {kNow + 10 * kNaptime + 1, kNow + 10 * kNaptime},
           {INT64_MAX, kNow + 10 * kNaptime},
       })
    EXPECT_EQ(next_visit(kNow, kNaptime, each.at), each.visit)
        << (each.at ? std::to_string(*each.at) : "none");
  // Before 2000 the server's times are negative.
  EXPECT_EQ(next_visit(-kNow, kDay, {}), -kNow + 10 * kDay);
}

struct Rest {
  std::int64_t rows;
  Micros elapsed;
  std::int64_t rate;
  Micros rest;
};

TEST(ScheduleRest, MakesUpForWhatWasTooFast) {
  constexpr std::int64_t kMany = 1000000000000;
  for (const Rest &each : std::vector<Rest>{
           {1000, 0, 0, 0},
           {kMany, 0, 0, 0},
           {0, 0, 1000, 0},
           {1000, 0, 1000, kSecond},
           {1000, kSecond - 1, 1000, 1},
           {1000, kSecond, 1000, 0},
           {1000, kDay, 1000, 0},
           {1500, 0, 1000, 3 * kSecond / 2},
           {1, 0, 3, 333333},
           {2, 0, 3, 666666},
           {3, 0, 3, kSecond},
           {1, 0, INT_MAX, 0},
           {INT_MAX, 0, INT_MAX, kSecond},
           {INT_MAX - 1, 0, INT_MAX, kSecond - 1},
           {kMany, 0, 1, kMany * kSecond},
           {kMany, 0, 7, kMany / 7 * kSecond + kMany % 7 * kSecond / 7},
           {kMany, kMany * kSecond - 1, 1, 1},
           {kMany, 0, INT_MAX, 465661287},
       })
    EXPECT_EQ(rest_after(each.rows, each.elapsed, each.rate), each.rest)
        << each.rows << " rows in " << each.elapsed << " at " << each.rate;
}

// Taking what the rate allows and resting as told must neither fall behind nor get ahead.
TEST(ScheduleRest, KeepsTheRate) {
  for (const std::int64_t rate : {std::int64_t{1}, std::int64_t{7}, std::int64_t{1000}}) {
    Micros clock = 0;
    std::int64_t rows = 0;
    for (int batch = 0; batch < 1000; batch++) {
      rows += batch_size(100, static_cast<int>(rate));
      clock += 1000;
      clock += rest_after(rows, clock, rate);
    }
    EXPECT_EQ(clock, rows / rate * kSecond + rows % rate * kSecond / rate) << rate;
  }
}

TEST(ScheduleBatch, IsAFiftiethOfTheRate) {
  struct Batch {
    int batch;
    int rate;
    int size;
  };
  for (const Batch &each : std::vector<Batch>{{1000, 0, 1000},
                                              {1000, 1, 1},
                                              {1000, 99, 1},
                                              {1000, 100, 2},
                                              {1000, 49999, 999},
                                              {1000, 50000, 1000},
                                              {1000, 50050, 1000},
                                              {1000, INT_MAX, 1000},
                                              {1, 1, 1},
                                              {100000, INT_MAX, 100000}})
    EXPECT_EQ(batch_size(each.batch, each.rate), each.size) << each.batch << ' ' << each.rate;
}

}  // namespace

}  // namespace idem::cleanup
