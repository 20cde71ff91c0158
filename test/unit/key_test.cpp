#include "records/key.hpp"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "records/limits.hpp"
#include "server/error.hpp"

namespace idem::records {

namespace {

using Parts = std::vector<std::string>;

std::string key_of(const Parts &parts) {
  return make_key({parts.begin(), parts.end()});
}

// Undoes the escapes of one part; nothing for a text that the escaping cannot have produced.
std::optional<std::string> unescape(std::string_view text) {
  static const std::map<std::string_view, char> kEscapes = {{"25", '%'}, {"3A", ':'}, {"2F", '/'}};
  std::string part;
  while (!text.empty()) {
    if (text[0] == ':' || text[0] == '/') return std::nullopt;
    if (text[0] != '%') {
      part += text[0];
      text.remove_prefix(1);
      continue;
    }
    const auto escape = kEscapes.find(text.substr(1, 2));
    if (escape == kEscapes.end()) return std::nullopt;
    part += escape->second;
    text.remove_prefix(3);
  }
  return part;
}

std::optional<Parts> split(std::string_view text, char separator) {
  Parts parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    const auto part = unescape(text.substr(0, end));
    if (!part) return std::nullopt;
    parts.push_back(*part);
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// Parts out of what the escaping is made of, so that a mistake in it collides soon.
Parts random_parts(std::mt19937 &random) {
  static const std::string kNasty = std::string("%:/2535AFaf\\ \"'\n\t\x01\x7f\xc3\xa9\xff") + '\0';
  const auto pick = [&](std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
  };
  Parts parts(1 + pick(4));
  for (std::string &part : parts)
    for (std::size_t length = 1 + pick(5); length > 0; length--)
      part += kNasty[pick(kNasty.size())];
  return parts;
}

// The code, message, detail and hint with which a call is refused; empty when it is not.
template <typename Call>
std::vector<std::string> refusal_of(Call call) {
  try {
    (void)call();
  } catch (const Error &error) {
    return {error.code(), error.what(), error.detail(), error.hint()};
  }
  return {};
}

std::vector<std::string> refusal_of_key(const Parts &parts) {
  return refusal_of([&] { return key_of(parts); });
}

std::vector<std::string> refusal_of_child(std::string_view parent, std::string_view step) {
  return refusal_of([&] { return make_child_key(parent, step); });
}

const std::vector<std::string> kTooLong = {"ID400", "key is too long",
                                           "The parts make a key of 513 bytes; the limit is 512.",
                                           "Use shorter parts, or a digest of the long one."};

TEST(MakeKey, JoinsWithColons) {
  EXPECT_EQ(key_of({"billing"}), "billing");
  EXPECT_EQ(key_of({"billing", "order 42", "charge"}), "billing:order 42:charge");
}

TEST(MakeKey, EscapesSeparatorsInsideAPart) {
  EXPECT_EQ(key_of({"a:b", "c/d", "e%f"}), "a%3Ab:c%2Fd:e%25f");
  EXPECT_EQ(key_of({"%3A"}), "%253A");
  EXPECT_EQ(key_of({":", "/", "%"}), "%3A:%2F:%25");
}

TEST(MakeKey, LeavesOtherBytesAlone) {
  EXPECT_EQ(key_of({"\xf0\x9f\x92\xb3", "\xff\xfe"}), "\xf0\x9f\x92\xb3:\xff\xfe");
}

TEST(MakeKey, CanBeTakenApartAgain) {
  std::mt19937 random(20240607);
  for (int i = 0; i < 100000; i++) {
    const Parts parts = random_parts(random);
    ASSERT_EQ(split(key_of(parts), ':'), std::optional(parts));
  }
}

TEST(MakeKey, GivesDifferentPartsDifferentKeys) {
  std::mt19937 random(7);
  std::map<std::string, Parts> made;
  for (int i = 0; i < 100000; i++) {
    const Parts parts = random_parts(random);
    const auto [place, is_new] = made.emplace(key_of(parts), parts);
    if (!is_new) {
      ASSERT_EQ(place->second, parts) << place->first;
    }
  }
}

TEST(MakeKey, RefusesNoParts) {
  const std::vector<std::string> expected = {
      "ID400", "a key needs at least one part", "",
      "Pass parts such as 'service', 'business id', 'operation'."};
  EXPECT_EQ(refusal_of_key({}), expected);
}

TEST(MakeKey, RefusesAnEmptyPartAndSaysWhich) {
  std::vector<std::string> expected = {"ID400", "part 1 of the key is empty",
                                       "A missing part would give different requests the same key.",
                                       "Pass a value, or leave the part out for every request."};
  EXPECT_EQ(refusal_of_key({""}), expected);
  expected[1] = "part 3 of the key is empty";
  EXPECT_EQ(refusal_of_key({"a", "b", ""}), expected);
}

TEST(MakeKey, HasALongestKey) {
  const std::string half(255, 'x');
  EXPECT_EQ(key_of({half, half + "y"}).size(), kMaxKeyBytes);
  EXPECT_EQ(refusal_of_key({half, half + "yy"}), kTooLong);
}

TEST(MakeKey, CountsEscapesAsThreeBytes) {
  const std::string longest(170, '/');
  EXPECT_EQ(key_of({longest, "x"}).size(), kMaxKeyBytes);
  EXPECT_EQ(refusal_of_key({longest, "xy"}), kTooLong);
  EXPECT_EQ(refusal_of_key({longest + "/"}), kTooLong);
}

TEST(MakeKey, TellsTheSizeOfAPartBefore) {
  for (const std::string part : {"a", ":", "a%b", "///", "\xff: /%"})
    EXPECT_EQ(size_in_key(part), make_key({part}).size());
}

TEST(MakeChildKey, AppendsTheStep) {
  EXPECT_EQ(make_child_key("billing:42", "charge"), "billing:42/charge");
  EXPECT_EQ(make_child_key("billing:42/charge", "mail"), "billing:42/charge/mail");
  EXPECT_EQ(make_child_key("k", "a/b:c%d"), "k/a%2Fb%3Ac%25d");
}

TEST(MakeChildKey, CanBeTakenApartAgain) {
  std::mt19937 random(99);
  for (int i = 0; i < 100000; i++) {
    const Parts parts = random_parts(random);
    const Parts steps = random_parts(random);
    const std::string parent = key_of(parts);
    std::string child = parent;
    for (const std::string &step : steps) child = make_child_key(child, step);
    ASSERT_EQ(child.substr(0, parent.size()), parent);
    ASSERT_EQ(child.find('/'), parent.size()) << "a made key must hold no bare slash";
    ASSERT_EQ(split(std::string_view(child).substr(parent.size() + 1), '/'), std::optional(steps));
  }
}

TEST(MakeChildKey, RefusesNothing) {
  std::vector<std::string> expected = {
      "ID400", "parent key must not be empty", "",
      "Pass the key of the request and a name for the step, such as 'charge'."};
  EXPECT_EQ(refusal_of_child("", "step"), expected);
  EXPECT_EQ(refusal_of_child("", ""), expected);
  expected[1] = "step must not be empty";
  EXPECT_EQ(refusal_of_child("parent", ""), expected);
}

TEST(MakeChildKey, HasALongestKey) {
  const std::string parent(510, 'x');
  EXPECT_EQ(make_child_key(parent, "y").size(), kMaxKeyBytes);
  EXPECT_EQ(refusal_of_child(parent, "yy"), kTooLong);
}

TEST(Error, KeepsItsParts) {
  const Error error(sqlstate::kNoSuchClaim, "message", "detail", "hint");
  const std::exception &as_exception = error;
  EXPECT_STREQ(as_exception.what(), "message");
  EXPECT_STREQ(error.code(), "ID404");
  EXPECT_STREQ(error.detail(), "detail");
  EXPECT_STREQ(error.hint(), "hint");
  const Error bare(sqlstate::kTooLarge, "message");
  EXPECT_STREQ(bare.detail(), "");
  EXPECT_STREQ(bare.hint(), "");
}

}  // namespace

}  // namespace idem::records
