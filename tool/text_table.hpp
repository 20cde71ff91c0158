// Tables for people: columns as wide as their widest cell, numbers to the right.

#pragma once

#include <string>
#include <vector>

namespace idem::tool {

struct TextColumn {
  std::string title;
  bool right = false;
};

// Lines, each with a line feed; the titles come first. Cells are UTF-8; what a terminal would take
// for a command is shown as "?".
std::string to_table(const std::vector<TextColumn> &columns,
                     const std::vector<std::vector<std::string>> &rows);

// How many places a text takes in a terminal: characters, of which those of East Asia count twice.
std::size_t display_width(const std::string &text);

// The beginning of a text that fits; cut with an ellipsis if it must be.
std::string fit(const std::string &text, std::size_t width);

// The text with "?" for each control character.
std::string printable(const std::string &text);

}  // namespace idem::tool
