// What names may look like, and how texts are quoted in errors. Pure.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace idem::machines {

inline constexpr char kNameRule[] =
    "A state's name is made of letters, digits, \"_\", \".\" and single \"-\" inside it.";
inline constexpr char kEventRule[] =
    "An event's name is made of letters, digits, \"_\", \".\", \"-\" and spaces inside it; commas "
    "separate events.";

// The length of the longest name of a state that the text begins with; 0: none.
std::size_t name_length(std::string_view text);

// Whether UTF-8's no-break space is in a name, which it never is on purpose. In other encodings of
// servers the two bytes make no character.
bool has_hidden_space(std::string_view name);

// Whether the diagram's language gives the word a meaning, in any case of its letters.
bool is_reserved(std::string_view word);

// The length of the longest beginning that can be part of an event's name.
std::size_t event_length(std::string_view text);

bool is_blank(char byte);
bool is_control(char byte);
std::string_view trimmed(std::string_view text);
bool same_word(std::string_view word, std::string_view other);  // in any case of the letters

// The text in quotes, shortened, and without control characters.
std::string quoted(std::string_view text);

}  // namespace idem::machines
