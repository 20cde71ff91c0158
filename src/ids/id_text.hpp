// Ids as text: 13 characters of Crockford's base 32, which sort like the numbers and survive where
// numbers have 53 bits.

#pragma once

#include <array>
#include <string_view>

#include "ids/layout.hpp"

namespace idem::ids {

inline constexpr int kTextLength = 13;
using IdText = std::array<char, kTextLength>;

// Throws idem::Error for a negative number.
IdText text_of(Id id);

// Lower case is as good as upper case, I and L count as 1, O as 0. Throws idem::Error for what is
// no id.
Id id_of(std::string_view text);

}  // namespace idem::ids
