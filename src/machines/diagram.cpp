// Statement by statement, what people draw is either a part of the machine, or a matter of looks
// that is read past, or refused. Nothing that would change the machine is ever skipped.

#include <algorithm>
#include <initializer_list>

#include "machines/builder.hpp"
#include "machines/definition.hpp"
#include "machines/escapes.hpp"
#include "machines/names.hpp"
#include "machines/scanner.hpp"
#include "server/error.hpp"

namespace idem::machines {

namespace {

constexpr char kTransitionHint[] =
    "A transition reads \"pending --> paid\" or \"pending --> paid : event\". Names hold letters, "
    "digits, \"_\", \".\" and single \"-\", and no spaces.";
constexpr char kStateHint[] = "Write state \"Waiting for payment\" as pending.";
constexpr char kNoteHint[] =
    "Write note right of pending : a text, or the text on lines of its own and then end note.";
constexpr char kFlatHint[] = "A column holds one value, so draw all states on one level.";
constexpr char kBirthHint[] = "Say where a row is born with a line such as \"[*] --> pending\".";

std::string description(std::string_view text) {
  std::string result = unescape(trimmed(text));
  std::replace(result.begin(), result.end(), '\t', ' ');
  return std::string(trimmed(result));
}

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [word](std::string_view other) { return same_word(word, other); });
}

// One end of a transition.
struct End {
  std::string_view name;
  bool star;  // it is "[*]"
};

class Reader {
 public:
  explicit Reader(std::string_view text)
      : scanner_(text), builder_(kReadingDiagram, [this] { return where(); }) {}

  Definition read();

 private:
  std::string where() const { return finished_ ? std::string() : scanner_.where(); }

  void read_header();
  void read_statement();
  void read_from_state();
  void read_transition(const End &from);
  void read_events(const End &from, const End &to);
  End read_end();
  std::size_t state(std::string_view name);
  void read_description(std::size_t state);

  bool read_keyword();
  bool read_keyword(std::string_view word);
  bool names_state(std::string_view word);
  void read_state();
  void read_note();
  void read_direction();
  void read_acc_descr();

  void refuse_structure();
  void expect_end();

  Scanner scanner_;
  Builder builder_;
  bool finished_ = false;
};

Definition Reader::read() {
  read_header();
  bool empty = true;
  while (scanner_.next_statement()) {
    read_statement();
    empty = false;
  }
  finished_ = true;
  if (empty) builder_.refuse("it has no states", kBirthHint);
  return builder_.finish(kBirthHint);
}

void Reader::read_header() {
  constexpr char kHint[] =
      "Begin with a line \"stateDiagram-v2\". The fence of a Markdown block is no part of the "
      "diagram.";
  bool more = scanner_.next_statement();
  if (more && scanner_.accept("---") && scanner_.at_end()) {
    scanner_.skip_to_line("---", "front matter");
    more = scanner_.next_statement();
  }
  if (!more) {
    finished_ = true;
    builder_.refuse("it is empty", kHint);
  }
  scanner_.mark();
  const std::string_view word = scanner_.name();
  if (word != "stateDiagram-v2" && word != "stateDiagram")
    scanner_.fail("expected \"stateDiagram-v2\"", kHint);
  expect_end();
}

void Reader::read_statement() {
  scanner_.mark();
  if (scanner_.sees("--") && !scanner_.sees("-->")) {
    scanner_.fail_here("parallel regions are not supported",
                       "Give each region a column and a machine of its own.");
  }
  if (!read_keyword()) read_from_state();
  expect_end();
}

void Reader::refuse_structure() {
  if (scanner_.sees("[H"))
    scanner_.fail_here("history states are not supported", "Name the states to return to.");
  if (scanner_.sees("{") || scanner_.sees("}"))
    scanner_.fail_here("nested states are not supported", kFlatHint);
  if (scanner_.sees("<<") || scanner_.sees("[[")) {
    scanner_.fail_here("choices, forks and joins are not supported",
                       "Draw each transition from state to state.");
  }
}

void Reader::expect_end() {
  if (scanner_.at_end()) return;
  refuse_structure();
  scanner_.fail_here(
      "unexpected text after the statement",
      "Names have no spaces in them. Put each statement on a line of its own; comments "
      "begin with \"%%\".");
}

// A statement that begins with a state, or with a star.
void Reader::read_from_state() {
  const End from = read_end();
  if (scanner_.accept("-->")) return read_transition(from);
  if (!from.star) {
    if (scanner_.at_end() || scanner_.sees(":")) return read_description(state(from.name));
    refuse_structure();
  }
  scanner_.fail_here(
      from.star ? "expected \"-->\" after \"[*]\"" : "expected \"-->\" after a state",
      kTransitionHint);
}

End Reader::read_end() {
  scanner_.mark();
  End end = {{}, scanner_.sees("[*]")};
  if (!end.star) refuse_structure();
  end.name = end.star ? scanner_.take(3) : scanner_.name();
  if (end.name.empty()) scanner_.fail("expected a state", kTransitionHint);
  if (scanner_.accept(":::") && scanner_.name().empty())
    scanner_.fail_here("expected the name of a class after \":::\"", "Remove the colons.");
  return end;
}

std::size_t Reader::state(std::string_view name) {
  scanner_.mark(name);
  return builder_.state(name);
}

void Reader::read_transition(const End &from) {
  const End to = read_end();
  if (!from.star && !to.star) return read_events(from, to);
  if (from.star && to.star) {
    scanner_.mark(from.name);
    scanner_.fail("\"[*]\" cannot lead to \"[*]\"", kBirthHint);
  }
  if (from.star)
    builder_.add_initial(state(to.name));
  else
    builder_.add_final(state(from.name));
  // A birth and an end have no event; what stands there is for people.
  if (scanner_.accept(":")) scanner_.take_rest();
}

void Reader::read_events(const End &from, const End &to) {
  const std::size_t source = state(from.name);
  const std::size_t target = state(to.name);
  scanner_.mark(from.name);
  const std::size_t pair = builder_.add_transition(source, target);
  if (!scanner_.accept(":")) return;
  do {
    scanner_.mark();
    const std::string_view event = trimmed(scanner_.take(event_length(scanner_.rest())));
    if (!scanner_.at_end() && !scanner_.sees(","))
      scanner_.fail_here("unexpected character in the name of an event", kEventRule);
    if (event.empty()) scanner_.fail("expected the name of an event", kEventRule);
    builder_.add_event(pair, event);
  } while (scanner_.accept(","));
}

void Reader::read_description(std::size_t state) {
  if (scanner_.accept(":")) builder_.describe(state, description(scanner_.take_rest()));
}

// Whether a word of the language stands where only a state can be meant, which is then refused by
// its name.
bool Reader::names_state(std::string_view word) {
  const bool titles = one_of(word, {"accTitle", "accDescr"});
  return scanner_.at_end() || scanner_.sees("-->") || (!titles && scanner_.sees(":"));
}

bool Reader::read_keyword() {
  const Scanner start = scanner_;
  const std::string_view word = scanner_.name();
  if (is_reserved(word) && !names_state(word) && read_keyword(word)) return true;
  scanner_ = start;
  return false;
}

bool Reader::read_keyword(std::string_view word) {
  if (same_word(word, "state")) {
    read_state();
  } else if (same_word(word, "note")) {
    read_note();
  } else if (same_word(word, "direction")) {
    read_direction();
  } else if (same_word(word, "accDescr")) {
    read_acc_descr();
  } else if (same_word(word, "hide")) {
    return scanner_.accept_word("empty") && scanner_.accept_word("description");
  } else if (one_of(word, {"accTitle", "class", "classDef", "click", "scale", "style"})) {
    scanner_.take_rest();
  } else {
    return false;
  }
  return true;
}

void Reader::read_state() {
  std::string_view text;
  const bool titled = scanner_.accept_quoted(&text);
  if (titled && !scanner_.accept_word("as"))
    scanner_.fail_here("expected \"as\" after the description", kStateHint);
  const End declared = read_end();
  if (declared.star) scanner_.fail("expected a state", kStateHint);
  const std::size_t index = state(declared.name);
  builder_.describe(index, description(text));
  read_description(index);
}

// A note is a line with a colon, or the lines up to "end note", or text "as" a name.
void Reader::read_note() {
  std::string_view text;
  if (scanner_.accept_quoted(&text)) {
    scanner_.take_rest();
    return;
  }
  const bool placed = scanner_.accept_word("left") || scanner_.accept_word("right");
  if (!placed || !scanner_.accept_word("of"))
    scanner_.fail_here("expected \"left of\" or \"right of\" after \"note\"", kNoteHint);
  if (scanner_.name().empty()) scanner_.fail_here("expected a state", kNoteHint);
  if (scanner_.accept(":"))
    scanner_.take_rest();
  else
    scanner_.skip_to_line("end note", "note");
}

void Reader::read_direction() {
  scanner_.mark();
  const std::string_view direction = scanner_.name();
  if (one_of(direction, {"TB", "TD", "BT", "LR", "RL"})) return;
  scanner_.fail("unknown direction", "Directions are TB, BT, LR and RL.");
}

void Reader::read_acc_descr() {
  if (scanner_.accept(":"))
    scanner_.take_rest();
  else if (scanner_.accept("{"))
    scanner_.skip_to("}", "description");
  else
    scanner_.fail_here("expected \":\" or \"{\"", "Write accDescr: a description of the diagram.");
}

}  // namespace

Definition read_diagram(std::string_view text) {
  if (text.size() > kMaxDiagramBytes) {
    throw Error(sqlstate::kBadArgument, "diagram is too large",
                "It has " + std::to_string(text.size()) + " bytes; the limit is " +
                    std::to_string(kMaxDiagramBytes) + ".",
                "Leave out what does not belong to the machine.");
  }
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark)
    text.remove_prefix(kByteOrderMark.size());
  return Reader(text).read();
}

}  // namespace idem::machines
