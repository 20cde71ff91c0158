// Ids as text: there and back, in the order of the numbers, and what is no id.

#include "ids/id_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "server/error.hpp"

namespace idem::ids {
namespace {

constexpr std::array<Id, 8> kEdges = {0,           1,           31,       32, (Id{1} << 53) - 1,
                                      Id{1} << 53, Id{1} << 60, INT64_MAX};

std::string as_text(Id id) {
  const IdText text = text_of(id);
  return {text.begin(), text.end()};
}

std::vector<Id> sample() {
  std::mt19937_64 random(3);
  std::vector<Id> ids(kEdges.begin(), kEdges.end());
  for (int bits = 0; bits < 63; bits++) {
    for (int i = 0; i < 100; i++) ids.push_back(static_cast<Id>(random() >> (1 + bits)));
  }
  return ids;
}

TEST(IdText, KnownOnes) {
  EXPECT_EQ(as_text(0), "0000000000000");
  EXPECT_EQ(as_text(1), "0000000000001");
  EXPECT_EQ(as_text(31), "000000000000Z");
  EXPECT_EQ(as_text(32), "0000000000010");
  EXPECT_EQ(as_text(INT64_MAX), "7ZZZZZZZZZZZZ");
}

TEST(IdText, ReadsWhatItWrote) {
  for (const Id id : sample()) EXPECT_EQ(id_of(as_text(id)), id);
}

TEST(IdText, SortsLikeTheNumbers) {
  std::vector<Id> ids = sample();
  std::sort(ids.begin(), ids.end());
  std::vector<std::string> texts;
  texts.reserve(ids.size());
  for (const Id id : ids) texts.push_back(as_text(id));
  EXPECT_TRUE(std::is_sorted(texts.begin(), texts.end()));
}

TEST(IdText, ReadsWhatPeopleWrite) {
  for (const Id id : sample()) {
    std::string text = as_text(id);
    for (char &c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    EXPECT_EQ(id_of(text), id);
  }
  const Id id = id_of("0000000000110");
  for (const char *text : {"OOOOOOOOOO11O", "oooooooooo11o", "0000000000IL0", "0000000000il0"})
    EXPECT_EQ(id_of(text), id) << text;
}

void expect_refused(std::string_view text) {
  try {
    id_of(text);
    ADD_FAILURE() << text << " was read";
  } catch (const Error &error) {
    EXPECT_STREQ(error.code(), sqlstate::kBadArgument);
    EXPECT_STRNE(error.hint(), "");
  }
}

TEST(IdText, RefusesWhatIsNoId) {
  expect_refused("");
  expect_refused("000000000000");
  expect_refused("00000000000000");
  expect_refused("8000000000000");
  expect_refused("ZZZZZZZZZZZZZ");
  expect_refused(" 000000000000");
  expect_refused("-000000000000");
  expect_refused("00000-00000-0");
  expect_refused(std::string_view("000000\0000000", 13));
  EXPECT_THROW(text_of(-1), Error);
  EXPECT_THROW(text_of(INT64_MIN), Error);
}

// Every byte, at every place.
TEST(IdText, KnowsItsDigits) {
  const std::string digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZabcdefghjkmnpqrstvwxyzIiLlOo";
  for (int byte = 0; byte < 256; byte++) {
    for (int place = 1; place < kTextLength; place++) {
      std::string text(kTextLength, '0');
      text[place] = static_cast<char>(byte);
      if (digits.find(text[place]) == std::string::npos)
        expect_refused(text);
      else
        EXPECT_NO_THROW(id_of(text)) << text;
    }
  }
}

}  // namespace
}  // namespace idem::ids
