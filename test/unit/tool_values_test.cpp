#include "tool/values.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "tool/backoff.hpp"
#include "tool/file_name.hpp"
#include "tool/lease.hpp"

namespace idem::tool {

namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

template <typename Parse>
void expect_refused(Parse parse, const std::vector<std::string> &texts) {
  for (const std::string &text : texts)
    EXPECT_THROW((void)parse(text), std::invalid_argument) << text;
}

TEST(ParseDuration, KnowsItsUnits) {
  EXPECT_EQ(parse_duration("90"), seconds(90));
  EXPECT_EQ(parse_duration("0"), seconds(0));
  EXPECT_EQ(parse_duration("1us"), microseconds(1));
  EXPECT_EQ(parse_duration("250ms"), milliseconds(250));
  EXPECT_EQ(parse_duration("1.5s"), milliseconds(1500));
  EXPECT_EQ(parse_duration(".5s"), milliseconds(500));
  EXPECT_EQ(parse_duration("10m"), minutes(10));
  EXPECT_EQ(parse_duration("10min"), minutes(10));
  EXPECT_EQ(parse_duration("2h"), hours(2));
  EXPECT_EQ(parse_duration("30d"), hours(720));
  EXPECT_EQ(parse_duration("2w"), hours(336));
  EXPECT_EQ(parse_duration("36525d"), hours(24) * 36525);
}

TEST(ParseDuration, RefusesEverythingElse) {
  expect_refused(parse_duration,
                 {"", "s", ".", ".s", "-1", "+1", " 1", "1 ", "1 s", "1S", "1x", "1e3", "1.5.5",
                  "1m30s", "0x10", "inf", "nan", "36526d", "99999999999999999999999999w"});
}

TEST(ParseExitCode, TakesWhatAProcessCanExitWith) {
  EXPECT_EQ(parse_exit_code("0"), 0);
  EXPECT_EQ(parse_exit_code("007"), 7);
  EXPECT_EQ(parse_exit_code("255"), 255);
  expect_refused(parse_exit_code, {"", "256", "600", "-1", "+1", "1x", " 1", "1 ", "1.0", "0x1",
                                   "99999999999999999999"});
}

TEST(ParseBytes, KnowsItsUnits) {
  EXPECT_EQ(parse_bytes("0"), 0);
  EXPECT_EQ(parse_bytes("64k"), 65536);
  EXPECT_EQ(parse_bytes("1M"), 1048576);
  EXPECT_EQ(parse_bytes("64M"), 67108864);
  expect_refused(parse_bytes, {"", "k", "-1", "1K", "1T", "1 k", "1G", "67108865", "1.5M"});
}

TEST(ParseBackoff, TakesARangeOrAWait) {
  EXPECT_EQ(parse_backoff("1s..1m"), (Backoff{seconds(1), minutes(1)}));
  EXPECT_EQ(parse_backoff("5"), (Backoff{seconds(5), seconds(5)}));
  EXPECT_EQ(parse_backoff("0..0"), (Backoff{seconds(0), seconds(0)}));
  EXPECT_EQ(parse_backoff("1.5s..2.5s"), (Backoff{milliseconds(1500), milliseconds(2500)}));
  expect_refused(parse_backoff, {"", "..", "1s..", "..1s", "2s..1s", "1s...2s", "1s-2s"});
}

TEST(ToInterval, IsWhatPostgresqlReads) {
  EXPECT_EQ(to_interval(microseconds(0)), "0:00:00.000000");
  EXPECT_EQ(to_interval(microseconds(1)), "0:00:00.000001");
  EXPECT_EQ(to_interval(milliseconds(3661500)), "1:01:01.500000");
  EXPECT_EQ(to_interval(hours(24) * 36525), "876600:00:00.000000");
}

TEST(ToWords, AreShort) {
  EXPECT_EQ(to_words(milliseconds(1)), "0.0 s");
  EXPECT_EQ(to_words(milliseconds(1540)), "1.5 s");
  EXPECT_EQ(to_words(seconds(59)), "59 s");
  EXPECT_EQ(to_words(seconds(60)), "1 min");
  EXPECT_EQ(to_words(seconds(125)), "2 min 5 s");
  EXPECT_EQ(to_words(hours(1)), "1 h");
  EXPECT_EQ(to_words(hours(76) + seconds(1)), "3 d 4 h");
}

TEST(BackoffWait, DoublesUpToTheLongest) {
  const Backoff backoff = {seconds(1), minutes(1)};
  const std::vector<int> expected = {1, 2, 4, 8, 16, 32, 60, 60};
  for (std::size_t i = 0; i < expected.size(); i++)
    EXPECT_EQ(backoff_wait(backoff, static_cast<long>(i), 1), seconds(expected[i]));
  EXPECT_EQ(backoff_wait(backoff, 1000000, 1), minutes(1));
  EXPECT_EQ(backoff_wait({seconds(0), seconds(0)}, 10, 1), seconds(0));
}

TEST(BackoffWait, HasAtLeastAHalf) {
  const Backoff backoff = {seconds(2), minutes(1)};
  EXPECT_EQ(backoff_wait(backoff, 0, 0), seconds(1));
  EXPECT_EQ(backoff_wait(backoff, 0, 0.5), milliseconds(1500));
  EXPECT_EQ(backoff_wait(backoff, 9, 0), seconds(30));
}

TEST(Deadline, LeavesAMarginBeforeTheEndOfTheLease) {
  const TimePoint start(seconds(1000));
  const Lease minute = {start, minutes(1)};
  EXPECT_EQ(renew_at(minute), start + seconds(20));
  EXPECT_EQ(deadline_of(minute, seconds(10)).kill, start + seconds(58));
  EXPECT_EQ(deadline_of(minute, seconds(10)).terminate, start + seconds(48));
  EXPECT_EQ(deadline_of(minute, minutes(10)).terminate, start + seconds(43));
  EXPECT_EQ(deadline_of(minute, seconds(0)).terminate, start + seconds(58));
  const Lease second = {start, seconds(1)};
  EXPECT_EQ(deadline_of(second, seconds(10)).kill, start + milliseconds(900));
  EXPECT_EQ(deadline_of(second, seconds(10)).terminate, start + milliseconds(650));
  EXPECT_LT(renew_at(second) + 2 * retry_pause(second), deadline_of(second, seconds(10)).terminate);
}

TEST(Deadline, NeverComesWithoutALease) {
  const Lease endless = {TimePoint(seconds(1)), Duration::max()};
  EXPECT_EQ(endless.end(), kNever);
  EXPECT_EQ(renew_at(endless), kNever);
  EXPECT_EQ(deadline_of(endless, seconds(10)).kill, kNever);
  EXPECT_EQ(deadline_of(endless, seconds(10)).terminate, kNever);
}

TEST(Deadline, IsOverForALeaseThatIsOver) {
  const Lease over = {TimePoint(seconds(100)), -seconds(5)};
  EXPECT_LT(deadline_of(over, seconds(10)).kill, TimePoint(seconds(100)));
}

TEST(FileName, TellsNamesApart) {
  EXPECT_EQ(file_name_of("lock:a"), "lock%3Aa.lock");
  EXPECT_EQ(file_name_of("../../etc"), "..%2F..%2Fetc.lock");
  EXPECT_EQ(file_name_of(std::string("\0\xff", 2)), "%00%FF.lock");
  EXPECT_NE(file_name_of("a%3Ab"), file_name_of("a:b"));
  const std::string one(512, 'x');
  const std::string other = one.substr(1) + "y";
  EXPECT_LT(file_name_of(one).size(), 256U);
  EXPECT_NE(file_name_of(one), file_name_of(other));
}

}  // namespace

}  // namespace idem::tool
