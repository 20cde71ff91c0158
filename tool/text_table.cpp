#include "tool/text_table.hpp"

#include <algorithm>
#include <cstdint>

namespace idem::tool {

namespace {

bool continues(unsigned char byte) {
  return (byte & 0xC0) == 0x80;
}

// The bytes of the character that begins at a place; 1 for what is not UTF-8.
std::size_t character_length(const std::string &text, std::size_t place) {
  const auto first = static_cast<unsigned char>(text[place]);
  const std::size_t length = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (place + length > text.size()) return 1;
  for (std::size_t i = 1; i < length; i++)
    if (!continues(static_cast<unsigned char>(text[place + i]))) return 1;
  return length;
}

std::uint32_t code_point(const std::string &text, std::size_t place, std::size_t length) {
  const auto first = static_cast<unsigned char>(text[place]);
  if (length == 1) return first;
  std::uint32_t code = first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; i++)
    code = code << 6 | (static_cast<unsigned char>(text[place + i]) & 0x3FU);
  return code;
}

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

template <std::size_t size>
bool is_among(const Range (&ranges)[size], std::uint32_t code) {
  return std::any_of(ranges, ranges + size, [code](const Range &range) {
    return code >= range.first && code <= range.last;
  });
}

std::size_t character_width(std::uint32_t code) {
  // Marks that sit on the character before, and what joins characters.
  static constexpr Range kNothing[] = {
      {0x0300, 0x036F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}};
  static constexpr Range kDouble[] = {{0x1100, 0x115F}, {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},
                                      {0xF900, 0xFAFF}, {0xFE30, 0xFE4F},   {0xFF00, 0xFF60},
                                      {0xFFE0, 0xFFE6}, {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}};
  if (is_among(kNothing, code)) return 0;
  return is_among(kDouble, code) ? 2 : 1;
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string to_row(const std::vector<TextColumn> &columns, const std::vector<std::size_t> &widths,
                   const std::vector<std::string> &cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); i++) {
    const std::string padding(widths[i] - display_width(cells[i]), ' ');
    line += columns[i].right ? padding + cells[i] : cells[i] + padding;
    line += "  ";
  }
  return trimmed(line) + "\n";
}

}  // namespace

std::size_t display_width(const std::string &text) {
  std::size_t width = 0;
  for (std::size_t place = 0; place < text.size();) {
    const std::size_t length = character_length(text, place);
    width += character_width(code_point(text, place, length));
    place += length;
  }
  return width;
}

std::string fit(const std::string &text, std::size_t width) {
  if (display_width(text) <= width) return text;
  std::string head;
  std::size_t used = 1;
  for (std::size_t place = 0; place < text.size();) {
    const std::size_t length = character_length(text, place);
    used += character_width(code_point(text, place, length));
    if (used > width) break;
    head += text.substr(place, length);
    place += length;
  }
  return width == 0 ? "" : head + "…";
}

std::string printable(const std::string &text) {
  std::string shown;
  for (std::size_t place = 0; place < text.size();) {
    const std::size_t length = character_length(text, place);
    const std::uint32_t code = code_point(text, place, length);
    const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
    shown += control ? "?" : text.substr(place, length);
    place += length;
  }
  return shown;
}

std::string to_table(const std::vector<TextColumn> &columns,
                     const std::vector<std::vector<std::string>> &rows) {
  std::vector<std::string> titles;
  std::vector<std::size_t> widths;
  for (const TextColumn &column : columns) {
    titles.push_back(column.title);
    widths.push_back(display_width(column.title));
  }
  std::vector<std::vector<std::string>> cells = rows;
  for (auto &row : cells)
    for (std::size_t i = 0; i < row.size(); i++) {
      row[i] = printable(row[i]);
      widths[i] = std::max(widths[i], display_width(row[i]));
    }
  std::string table = to_row(columns, widths, titles);
  for (const auto &row : cells) table += to_row(columns, widths, row);
  return table;
}

}  // namespace idem::tool
