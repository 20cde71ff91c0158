// Walks the text of a diagram: its lines, and the words of a line. Pure.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace idem::machines {

inline constexpr char kReadingDiagram[] = "cannot read the diagram";

class Scanner {
 public:
  explicit Scanner(std::string_view text) : left_(text) {}

  // Goes to the next line, whatever it holds; false: there is none.
  bool next_line();
  // Goes to the next statement, past comments and directives; the comment at its end is cut off.
  bool next_statement();

  // From a line that opens `what` to the one that closes it.
  void skip_to(std::string_view closing, const char *what);
  void skip_to_line(std::string_view closing, const char *what);

  // All of these first go past blanks, on the line.
  bool at_end();
  bool sees(std::string_view token);
  bool accept(std::string_view token);
  bool accept_word(std::string_view word);  // in any case of its letters
  std::string_view name();                  // of a state; empty: none here
  bool accept_quoted(std::string_view *text);
  std::string_view take(std::size_t count);
  std::string_view rest();  // without taking it
  std::string_view take_rest();

  // Where an error is: at the place reached, or at a part of the line that was taken before. It
  // stays until the next line.
  void mark();
  void mark(std::string_view part);
  std::string where() const;

  [[noreturn]] void fail(const std::string &problem, const std::string &hint) const;
  [[noreturn]] void fail_here(const std::string &problem, const std::string &hint);

 private:
  void cut_comment();
  void skip_blanks();

  std::string_view left_;
  std::string_view line_;
  std::string_view statement_;  // `line_`, or its beginning
  std::size_t at_ = 0;
  std::size_t mark_ = 0;
  std::size_t number_ = 0;
};

}  // namespace idem::machines
