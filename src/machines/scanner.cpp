#include "machines/scanner.hpp"

#include <algorithm>

#include "machines/names.hpp"
#include "server/error.hpp"

namespace idem::machines {

namespace {

constexpr std::string_view kComment = "%%";
constexpr std::string_view kDirective = "%%{";

// Bytes that continue a character of UTF-8 do not count. In other encodings a column may be off.
std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80;
  }));
}

}  // namespace

bool Scanner::next_line() {
  if (left_.empty()) return false;
  const std::size_t end = std::min(left_.find('\n'), left_.size());
  line_ = left_.substr(0, end);
  left_.remove_prefix(std::min(end + 1, left_.size()));
  if (!line_.empty() && line_.back() == '\r') line_.remove_suffix(1);
  statement_ = line_;
  at_ = 0;
  mark_ = 0;
  number_++;
  for (std::size_t i = 0; i < line_.size(); i++) {
    if (!is_control(line_[i]) || line_[i] == '\t') continue;
    mark_ = i;
    fail("it holds a control character", "Remove the character.");
  }
  return true;
}

bool Scanner::next_statement() {
  statement_ = {};
  at_ = 0;
  for (;;) {
    if (at_end() || (sees(kComment) && !sees(kDirective))) {
      if (!next_line()) return false;
    } else if (accept(kDirective)) {
      skip_to("}%%", "directive");
    } else {
      cut_comment();
      return true;
    }
  }
}

// Between quotes, "%%" is text.
void Scanner::cut_comment() {
  for (std::size_t i = at_; i + 1 < statement_.size(); i++) {
    if (statement_[i] == '"') {
      const std::size_t end = statement_.find('"', i + 1);
      if (end != std::string_view::npos) i = end;
    } else if (statement_.substr(i, kComment.size()) == kComment) {
      statement_ = statement_.substr(0, i);
    }
  }
}

void Scanner::skip_to(std::string_view closing, const char *what) {
  const Scanner opened = *this;
  for (;;) {
    const std::size_t end = statement_.find(closing, at_);
    if (end != std::string_view::npos) {
      at_ = end + closing.size();
      return;
    }
    if (!next_line()) {
      opened.fail(std::string("the ") + what + " does not end",
                  "Close it with \"" + std::string(closing) + "\".");
    }
  }
}

void Scanner::skip_to_line(std::string_view closing, const char *what) {
  const Scanner opened = *this;
  while (next_line()) {
    cut_comment();
    if (same_word(trimmed(statement_), closing)) {
      at_ = statement_.size();
      return;
    }
  }
  opened.fail(std::string("the ") + what + " does not end",
              "Close it with a line \"" + std::string(closing) + "\".");
}

void Scanner::skip_blanks() {
  while (at_ < statement_.size() && is_blank(statement_[at_])) at_++;
}

std::string_view Scanner::rest() {
  skip_blanks();
  return statement_.substr(at_);
}

std::string_view Scanner::take_rest() {
  return take(rest().size());
}

bool Scanner::at_end() {
  return rest().empty();
}

bool Scanner::sees(std::string_view token) {
  return rest().substr(0, token.size()) == token;
}

std::string_view Scanner::take(std::size_t count) {
  const std::string_view taken = rest().substr(0, count);
  at_ += taken.size();
  return taken;
}

bool Scanner::accept(std::string_view token) {
  if (!sees(token)) return false;
  take(token.size());
  return true;
}

bool Scanner::accept_word(std::string_view word) {
  if (!same_word(rest().substr(0, name_length(rest())), word)) return false;
  take(word.size());
  return true;
}

std::string_view Scanner::name() {
  return take(name_length(rest()));
}

bool Scanner::accept_quoted(std::string_view *text) {
  if (!sees("\"")) return false;
  const std::size_t end = rest().find('"', 1);
  if (end == std::string_view::npos) return false;
  *text = take(end + 1).substr(1, end - 1);
  return true;
}

void Scanner::mark() {
  skip_blanks();
  mark_ = at_;
  if (at_ < statement_.size()) return;
  // At the end of the statement, rather than at that of the blanks after it.
  while (mark_ > 0 && is_blank(line_[mark_ - 1])) mark_--;
}

void Scanner::mark(std::string_view part) {
  mark_ = static_cast<std::size_t>(part.data() - line_.data());
}

std::string Scanner::where() const {
  return "Line " + std::to_string(number_) + ", column " +
         std::to_string(characters(line_.substr(0, mark_)) + 1) + ": " + quoted(trimmed(line_)) +
         ".";
}

void Scanner::fail(const std::string &problem, const std::string &hint) const {
  throw Error(sqlstate::kBadArgument, std::string(kReadingDiagram) + ": " + problem, where(), hint);
}

void Scanner::fail_here(const std::string &problem, const std::string &hint) {
  mark();
  fail(problem, hint);
}

}  // namespace idem::machines
