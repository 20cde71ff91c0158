#include "tool/text_table.hpp"

#include <gtest/gtest.h>

#include <string>

namespace idem::tool {

namespace {

TEST(TextTable, IsAsWideAsItsCells) {
  EXPECT_EQ(to_table({{"NAME"}, {"COUNT", true}, {"LAST"}},
                     {{"a", "1", "x"}, {"longer", "12345678", ""}}),
            "NAME       COUNT  LAST\n"
            "a              1  x\n"
            "longer  12345678\n");
  EXPECT_EQ(to_table({{"NAME"}, {"B"}}, {}), "NAME  B\n");
}

TEST(TextTable, CountsPlacesAndNotBytes) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("\xc3\xa9"), 1U);
  EXPECT_EQ(display_width("e\xcc\x81"), 1U);
  EXPECT_EQ(display_width("\xe6\x97\xa5\xe6\x9c\xac"), 4U);
  EXPECT_EQ(display_width("\xff\xfe"), 2U);
  EXPECT_EQ(to_table({{"A"}, {"B"}}, {{"\xe6\x97\xa5", "x"}, {"abc", "y"}}),
            "A    B\n\xe6\x97\xa5   x\nabc  y\n");
}

TEST(TextTable, ShowsNoCommandsForTerminals) {
  EXPECT_EQ(printable("a\x1b[2Jb\nc\td\x7f"), "a?[2Jb?c?d?");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "?31m");
  EXPECT_EQ(printable("\xc3\xa9"), "\xc3\xa9");
  EXPECT_EQ(to_table({{"A"}}, {{"x\ny"}}), "A\nx?y\n");
}

TEST(TextTable, FitsWhatIsTooWide) {
  EXPECT_EQ(fit("abc", 3), "abc");
  EXPECT_EQ(fit("abcd", 3), "ab\xe2\x80\xa6");
  EXPECT_EQ(fit("\xe6\x97\xa5\xe6\x9c\xac", 3), "\xe6\x97\xa5\xe2\x80\xa6");
  EXPECT_EQ(fit("\xe6\x97\xa5\xe6\x9c\xac", 2), "\xe2\x80\xa6");
  EXPECT_EQ(fit("abc", 0), "");
}

}  // namespace

}  // namespace idem::tool
