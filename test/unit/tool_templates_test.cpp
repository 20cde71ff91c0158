#include "tool/templates.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace idem::tool {

namespace {

Surroundings surroundings() {
  Surroundings result;
  // The Sunday of the first week, by ISO 8601, of the year that has begun two days before.
  result.now.tm_year = 121;
  result.now.tm_mon = 0;
  result.now.tm_mday = 3;
  result.now.tm_hour = 9;
  result.now.tm_min = 5;
  result.now.tm_wday = 0;
  result.now.tm_yday = 2;
  result.yesterday = result.now;
  result.yesterday.tm_mday = 2;
  result.host = "web1";
  result.user = "backup";
  result.variable = [](const std::string &name) -> std::optional<std::string> {
    if (name == "EMPTY") return "";
    if (name == "BRACES") return "{date}";
    return std::nullopt;
  };
  return result;
}

std::string expanded(const std::string &text) {
  return expand(text, surroundings());
}

TEST(Templates, LeavePlainTextAlone) {
  EXPECT_EQ(expanded(""), "");
  EXPECT_EQ(expanded("nightly %Y $x"), "nightly %Y $x");
}

TEST(Templates, NamePeriodsInFull) {
  EXPECT_EQ(expanded("{year}"), "2021");
  EXPECT_EQ(expanded("{month}"), "2021-01");
  EXPECT_EQ(expanded("{date}"), "2021-01-03");
  EXPECT_EQ(expanded("{hour}"), "2021-01-03T09");
  EXPECT_EQ(expanded("{minute}"), "2021-01-03T09:05");
  EXPECT_EQ(expanded("{yesterday}"), "2021-01-02");
}

TEST(Templates, CountWeeksInTheirOwnYear) {
  EXPECT_EQ(expanded("{week}"), "2020-W53");
}

TEST(Templates, FormatAsTold) {
  EXPECT_EQ(expanded("{date:%d.%m.}"), "03.01.");
  EXPECT_EQ(expanded("{date:}"), "");
}

TEST(Templates, KnowTheMachineAndTheUser) {
  EXPECT_EQ(expanded("{user}@{host}:{host}"), "backup@web1:web1");
}

TEST(Templates, TakeValuesAsTheyAre) {
  EXPECT_EQ(expanded("{env:BRACES}"), "{date}");
}

TEST(Templates, KeepDoubledBraces) {
  EXPECT_EQ(expanded("{{date}}"), "{date}");
  EXPECT_EQ(expanded("{{{host}}}"), "{web1}");
}

TEST(Templates, RefuseWhatStandsForNothing) {
  for (const char *text : {"{", "}", "{date", "date}", "{}", "{Date}", "{ date}", "{nothing}",
                           "{env:}", "{env:NONE}", "{env:EMPTY}", "{{{", "}}}", "{date}}"})
    EXPECT_THROW((void)expanded(text), std::invalid_argument) << text;
}

}  // namespace

}  // namespace idem::tool
