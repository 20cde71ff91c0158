#include "ids/id_text.hpp"

#include <string>

#include "server/error.hpp"

namespace idem::ids {

namespace {

constexpr char kDigits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
constexpr int kDigitBits = 5;
constexpr int kDigitMask = (1 << kDigitBits) - 1;
constexpr int kNoDigit = -1;
// 13 digits have 65 bits, and an id 63.
constexpr int kLastFirstDigit = 7;

constexpr const char *kExpected =
    "An id has 13 characters of 0 to 9 and A to Z without I, L, O and U, as idem_snowflake_text "
    "gives them.";

constexpr std::array<int, 256> make_values() {
  std::array<int, 256> values{};
  for (int &value : values) value = kNoDigit;
  for (int i = 0; i <= kDigitMask; i++) {
    const auto digit = static_cast<unsigned char>(kDigits[i]);
    values[digit] = i;
    if (digit >= 'A') values[digit - 'A' + 'a'] = i;
  }
  // What people read as a digit.
  for (const unsigned char letter : {'I', 'i', 'L', 'l'}) values[letter] = 1;
  for (const unsigned char letter : {'O', 'o'}) values[letter] = 0;
  return values;
}

constexpr std::array<int, 256> kValues = make_values();

}  // namespace

IdText text_of(Id id) {
  if (id < 0)
    throw Error(sqlstate::kBadArgument, "an id must not be negative",
                "The value is " + std::to_string(id) + ".", "Pass what idem_snowflake returned.");
  IdText text;
  for (int place = kTextLength - 1; place >= 0; place--) {
    text[place] = kDigits[id & kDigitMask];
    id >>= kDigitBits;
  }
  return text;
}

Id id_of(std::string_view text) {
  if (text.size() != kTextLength)
    throw Error(sqlstate::kBadArgument,
                "an id as text has 13 characters, not " + std::to_string(text.size()) + " bytes",
                {}, kExpected);
  Id id = 0;
  for (int place = 0; place < kTextLength; place++) {
    const int value = kValues[static_cast<unsigned char>(text[place])];
    if (value == kNoDigit)
      // Not quoted: it may be a part of a longer character.
      throw Error(sqlstate::kBadArgument,
                  "character " + std::to_string(place + 1) + " of an id as text is no digit", {},
                  kExpected);
    if (place == 0 && value > kLastFirstDigit)
      throw Error(sqlstate::kBadArgument, "an id as text begins with a digit from 0 to 7", {},
                  "Greater ones stand for numbers that bigint cannot hold.");
    id = id << kDigitBits | value;
  }
  return id;
}

}  // namespace idem::ids
