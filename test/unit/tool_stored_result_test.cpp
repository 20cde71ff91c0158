#include "tool/stored_result.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace idem::tool {

namespace {

std::string every_byte() {
  std::string bytes;
  for (int byte = 0; byte < 256; byte++) bytes += static_cast<char>(byte);
  return bytes;
}

Capture captured(const std::string &bytes, std::size_t limit = 1U << 20) {
  Capture capture(limit);
  capture.add(bytes);
  return capture;
}

StoredRun round_trip(const RunResult &result, std::size_t limit = 1U << 20,
                     bool ascii_only = false) {
  return from_stored(to_stored(result, limit, ascii_only), result.status != 0, std::nullopt);
}

TEST(Capture, KeepsTheBeginning) {
  Capture capture(5);
  capture.add("abc");
  EXPECT_FALSE(capture.truncated());
  capture.add("de");
  EXPECT_FALSE(capture.truncated());
  capture.add("");
  EXPECT_FALSE(capture.truncated());
  capture.add("f");
  capture.add("g");
  EXPECT_EQ(capture.bytes(), "abcde");
  EXPECT_TRUE(capture.truncated());
  capture.clear();
  EXPECT_EQ(capture.bytes(), "");
  EXPECT_FALSE(capture.truncated());
}

TEST(Capture, IsNotCutWithinACharacter) {
  const std::string text = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x92\xb3!";
  const std::vector<std::size_t> expected = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};
  for (std::size_t limit = 0; limit < expected.size(); limit++) {
    EXPECT_EQ(captured(text).cut(limit).bytes(), text.substr(0, expected[limit])) << limit;
    EXPECT_EQ(captured(text, limit).cut(100).bytes(), text.substr(0, expected[limit])) << limit;
  }
}

TEST(Capture, KeepsAllBytesThatAreNoText) {
  EXPECT_EQ(captured(std::string(10, '\xff')).cut(5).bytes(), std::string(5, '\xff'));
  EXPECT_EQ(captured(std::string(10, '\x80')).cut(5).bytes(), std::string(5, '\x80'));
}

TEST(StoredResult, ComesBack) {
  const StoredRun run = round_trip({0, 1.5, "host", captured("out\n"), captured("\xc3\xa9")});
  EXPECT_TRUE(run.ours);
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.out, "out\n");
  EXPECT_EQ(run.err, "\xc3\xa9");
  EXPECT_FALSE(run.truncated);
  EXPECT_EQ(round_trip({42, 0, "", std::nullopt, std::nullopt}).status, 42);
}

TEST(StoredResult, KeepsBytesThatAreNoText) {
  for (const std::string &bytes :
       {every_byte(), std::string("a\0b", 3), std::string("\xff"), std::string("\xed\xa0\x80"),
        std::string("\xc0\x80"), std::string("\xf4\x90\x80\x80"), std::string("\xe2\x82")}) {
    const RunResult result = {0, 0, "h", captured(bytes), captured("")};
    EXPECT_EQ(round_trip(result).out, bytes);
    EXPECT_NE(to_stored(result, 1000, false).find("stdout_base64"), std::string::npos);
  }
}

TEST(StoredResult, IsAsciiWhereTheDatabaseIsNotUtf8) {
  const RunResult result = {0, 0, "h\xc3\xa9", captured("\xc3\xa9"), captured("plain")};
  for (const char c : to_stored(result, 1000, true)) EXPECT_GE(c, 0);
  EXPECT_EQ(round_trip(result, 1000, true).out, "\xc3\xa9");
  EXPECT_EQ(round_trip(result, 1000, true).err, "plain");
}

TEST(StoredResult, SaysWhatIsLeftOut) {
  const RunResult result = {0, 0, "h", captured("12345"), captured("1")};
  EXPECT_EQ(round_trip(result, 4).out, "1234");
  EXPECT_TRUE(round_trip(result, 4).truncated);
  EXPECT_FALSE(round_trip(result, 5).truncated);
  EXPECT_TRUE(round_trip({0, 0, "h", captured("12345", 3), captured("")}).truncated);
  EXPECT_EQ(round_trip(result, 0).out, "");
}

TEST(StoredResult, HasNoStreamsUnlessTheyWereKept) {
  const std::string json = to_stored({0, 0.25, "h", std::nullopt, std::nullopt}, 0, false);
  EXPECT_EQ(json, R"({"exit":0,"seconds":0.25,"host":"h"})");
}

TEST(StoredResult, OfOthersIsNoMoreThanTheStatusOfTheRecord) {
  for (const char *json : {"null", "1", "[]", "{}", "\"text\"", "{\"exit\": \"0\"}",
                           "{\"exit\": 256}", "{\"exit\": -1}", "{\"exit\": 1.5}", "not json"}) {
    const StoredRun run = from_stored(std::string(json), false, std::nullopt);
    EXPECT_FALSE(run.ours) << json;
    EXPECT_EQ(run.status, 0) << json;
    EXPECT_EQ(run.out, "") << json;
  }
  EXPECT_EQ(from_stored(std::nullopt, false, "404").status, 0);
}

TEST(StoredResult, OfAFailureIsNeverSuccess) {
  EXPECT_EQ(from_stored(std::nullopt, true, std::nullopt).status, 1);
  EXPECT_EQ(from_stored(std::nullopt, true, "7").status, 7);
  for (const char *code : {"0", "256", "404", "-1", "2147483647", ""})
    EXPECT_EQ(from_stored(std::nullopt, true, code).status, 1) << code;
  EXPECT_EQ(from_stored("{\"exit\": 0}", true, "9").status, 9);
  EXPECT_EQ(from_stored("{\"exit\": 3}", false, std::nullopt).status, 0);
}

TEST(Base64, IsThatOfTheStandard) {
  const std::vector<std::pair<std::string, std::string>> kKnown = {{"", ""},
                                                                   {"f", "Zg=="},
                                                                   {"fo", "Zm8="},
                                                                   {"foo", "Zm9v"},
                                                                   {"foob", "Zm9vYg=="},
                                                                   {"fooba", "Zm9vYmE="},
                                                                   {"foobar", "Zm9vYmFy"}};
  for (const auto &[bytes, text] : kKnown) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
}

TEST(Base64, CanBeTakenBack) {
  std::mt19937 random(4);
  for (int round = 0; round < 1000; round++) {
    std::string bytes(random() % 50, '\0');
    for (char &byte : bytes) byte = static_cast<char>(random());
    ASSERT_EQ(from_base64(to_base64(bytes)), bytes);
  }
}

TEST(Base64, RefusesWhatIsNone) {
  for (const char *text : {"Z", "Zg", "Zg=", "Z===", "Zm9v!", "Zm9v\n", "=Zg=", "Zg==Zg=="})
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
}

}  // namespace

}  // namespace idem::tool
