// What is read out of diagrams and arrays, and everything that is refused, with its place.

#include <gtest/gtest.h>

#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "definition_text.hpp"
#include "machines/definition.hpp"
#include "machines/drawing.hpp"
#include "server/error.hpp"

namespace idem::machines {

namespace {

struct Accepted {
  const char *text;
  const char *definition;
};

struct Refused {
  const char *text;  // after a header and the line "[*] --> a", so that it begins with line 3
  const char *message;
  const char *place;  // before the text of the line
};

constexpr char kHead[] = "stateDiagram-v2\n[*] --> a\n";

// The error that reading the text ends in; the test fails if it does not.
template <typename Read>
Error error_of(Read read) {
  try {
    const Definition definition = read();
    ADD_FAILURE() << "it was read as " << text_of(definition);
  } catch (const Error &error) {
    return error;
  }
  return {sqlstate::kBadArgument, "no error"};
}

Error diagram_error(const std::string &text) {
  return error_of([&] { return read_diagram(text); });
}

std::string read_as(const std::string &text) {
  try {
    return text_of(read_diagram(text));
  } catch (const Error &error) {
    return std::string(error.what()) + " / " + error.detail();
  }
}

std::string line(const std::string &text, std::size_t number) {
  std::size_t begin = 0;
  for (; number > 1; number--) begin = text.find('\n', begin) + 1;
  const std::string whole = text.substr(begin, text.find('\n', begin) - begin);
  const std::size_t first = whole.find_first_not_of(" \t");
  return whole.substr(first, whole.find_last_not_of(" \t") - first + 1);
}

// After a header.
constexpr Accepted kAccepted[] = {
    {"[*] --> a", "*a! |"},
    {"[*]-->a", "*a! |"},
    {"\t [*]\t-->\ta \t", "*a! |"},
    {"[*] --> a\n[*] --> b\n[*] --> a", "*a! *b! |"},
    {"[*] --> a : created by hand; any: text", "*a! |"},
    {"[*] --> a\na --> [*]", "*a! |"},
    {"[*] --> a\na --> [*]: done\na --> [*]", "*a! |"},
    {"[*] --> a\na --> b", "*a b! | a>b"},
    {"a-->b\n[*]-->a", "*a b! | a>b"},
    {"[*] --> a\na --> b\na --> b", "*a b! | a>b"},
    {"[*] --> a\na --> b : pay", "*a b! | a>b:pay"},
    {"[*] --> a\na-->b:pay", "*a b! | a>b:pay"},
    {"[*] --> a\na --> b : pay,settle , cancel the rest",
     "*a b! | a>b:pay a>b:settle "
     "a>b:cancel the rest"},
    {"[*] --> a\na --> b : pay, pay", "*a b! | a>b:pay"},
    {"[*] --> a\na --> b : x\na --> c : y\na --> b : z", "*a b! c! | a>b:x a>b:z a>c:y"},
    {"[*] --> a\na --> b\na --> b : x", "*a b! | a>b:x"},
    {"[*] --> a\na --> b : x\na --> b", "*a b! | a>b:x"},
    {"[*] --> a\na --> b : x\nb --> a : x", "*a b | a>b:x b>a:x"},
    {"[*] --> a\na --> a : touch", "*a! | a>a:touch"},
    {"[*] --> a\na --> a : touch\na --> [*]", "*a! | a>a:touch"},
    {"[*] --> a\na --> b : --done--, -", "*a b! | a>b:--done-- a>b:-"},
    {"[*] --> a\nlegacy", "*a! legacy! |"},
    {"[*] --> a\nstate legacy", "*a! legacy! |"},
    {"[*] --> a\nlegacy --> a", "*a! legacy | legacy>a"},
    {"b\nc\n[*] --> a\na --> c", "b! c! *a | a>c"},
    // Names.
    {"[*] --> in-progress\nin-progress-->a.b_1", "*in-progress a.b_1! | in-progress>a.b_1"},
    {"[*] --> 1\n1 --> 2-3-4", "*1 2-3-4! | 1>2-3-4"},
    {"[*] --> Größe\nGröße-->支払い: оплата 💰", "*Größe 支払い! | Größe>支払い:оплата 💰"},
    {"[*] --> stated\nstated --> notes\nnotes --> classes\nclasses --> end",
     "*stated notes classes end! | stated>notes notes>classes classes>end"},
    {"[*] --> as\nstate \"as\" as as", "*as(as)! |"},
    // Descriptions.
    {"[*] --> a\na : Waiting for payment", "*a(Waiting for payment)! |"},
    {"[*] --> a\na:Waiting", "*a(Waiting)! |"},
    {"[*] --> a\na : b --> c : d", "*a(b --> c : d)! |"},
    {"[*] --> a\na :", "*a! |"},
    {"[*] --> a\na : \t tab\tinside \t", "*a(tab inside)! |"},
    {"state \"Waiting for payment\" as a\n[*] --> a", "*a(Waiting for payment)! |"},
    {"state\"W\"as a\n[*] --> a", "*a(W)! |"},
    {"STATE \"W\" AS a\n[*] --> a", "*a(W)! |"},
    {"state \"\" as a\n[*] --> a", "*a! |"},
    {"state \" { --> } %% \" as a\n[*] --> a", "*a({ --> } %%)! |"},
    {"state \"W\" as a : more\n[*] --> a", "*a(W more)! |"},
    {"state \"W\" as a:::big\n[*] --> a", "*a(W)! |"},
    {"[*] --> a\na : one\na : two\na : two", "*a(one two two)! |"},
    {"[*] --> a\na : one\na : one", "*a(one)! |"},
    {"[*] --> a\na : #quot;#34;#35;#65;#126; #amp;#lt;#gt;#apos;", "*a(\"\"#A~ &<>')! |"},
    {"[*] --> a\na : #5 #31; #127; #9829; #hearts; #; # #quot #38;lt;",
     "*a(#5 #31; #127; #9829; #hearts; #; # #quot &lt;)! |"},
    {"[*] --> a\na : #32;x#32;", "*a(x)! |"},
    // Classes.
    {"[*] --> a:::big\na:::big --> b:::c-d : x", "*a b! | a>b:x"},
    {"[*]:::s --> a\na ::: big\na:::big : text", "*a(text)! |"},
    {"[*] --> a:::big : born", "*a! |"},
    // Looks.
    {"direction LR\n direction tb \ndirection TD\ndirection BT\ndirection RL\n[*] --> a", "*a! |"},
    {"hide empty description\nscale 350 width\nscale 2\n[*] --> a", "*a! |"},
    {"[*] --> a\nclassDef big fill:#f00,color:white;\nclass a, b big\nstyle a fill:#f9f\n"
     "click a href \"https://example.org\" \"tip\"",
     "*a! |"},
    {"accTitle: a --> b\naccDescr: b --> c\naccTitle : x\n[*] --> a", "*a! |"},
    {"accDescr {\n a --> b\n\n c }\naccDescr { one line }\naccDescr{x}\n[*] --> a", "*a! |"},
    {"[*] --> a\nnote right of a : b --> c\nnote left of a: text\nNOTE RIGHT OF a : text", "*a! |"},
    {"[*] --> a\nnote right of a\n b --> c\n\n end notes\n End Note \nnote left of a\nend note",
     "*a! |"},
    {"[*] --> a\nnote \"floating\" as N1", "*a! |"},
    // Comments and directives.
    {"%% a --> b\n[*] --> a %% b --> c\n%%\n  %% x\na %%x", "*a! |"},
    {"[*] --> a%% x\na --> b : x, y %% z\nb : text %% z\nstate c%%z\n[*] --> b %%",
     "*a *b(text)! c! | a>b:x a>b:y"},
    {"[*] --> a\na : 5\" %% \"x", "*a(5\" %% \"x)! |"},
    {"[*] --> a\na : 5\" wide %% x", "*a(5\" wide)! |"},
    {"%%{init: {'theme': 'dark'}}%%\n%%{ config:\n a --> b\n}%% [*] --> a\n%% %%{ x", "*a! |"},
};

TEST(ReadDiagram, ReadsWhatPeopleWrite) {
  for (const Accepted &accepted : kAccepted) {
    const std::string body = accepted.text;
    SCOPED_TRACE(body);
    EXPECT_EQ(read_as("stateDiagram-v2\n" + body), accepted.definition);
    EXPECT_EQ(read_as("stateDiagram-v2\n" + body + "\n"), accepted.definition);
    std::string carriage = "stateDiagram-v2\r\n";
    for (const char byte : body) carriage += byte == '\n' ? "\r\n" : std::string(1, byte);
    EXPECT_EQ(read_as(carriage + "\r\n\r\n"), accepted.definition);
  }
}

TEST(ReadDiagram, ReadsWhatMayComeBeforeTheStatements) {
  for (const char *head : {
           "stateDiagram-v2\n",
           "stateDiagram\n",
           "  stateDiagram-v2  \n",
           "\n\n\tstateDiagram-v2 %% x\n\n",
           "\xEF\xBB\xBFstateDiagram-v2\n",
           "---\ntitle: x\n---\nstateDiagram-v2\n",
           "\n--- \nconfig:\n  theme: \"a --> b\"\n  ----\n ---\n\nstateDiagram-v2\n",
           "---\n---\nstateDiagram-v2\n",
           "%% x\n%%{init: {\n}\n}%%\n---\ntitle: x\n---\n%% x\nstateDiagram-v2\n",
           "%%{init: {}}%% stateDiagram-v2\n",
       }) {
    EXPECT_EQ(read_as(std::string(head) + "[*] --> a"), "*a! |") << head;
  }
}

constexpr char kEventPlace[] = "unexpected character in the name of an event";
constexpr char kArrow[] = "expected \"-->\" after a state";
constexpr char kNested[] = "nested states are not supported";
constexpr char kChoices[] = "choices, forks and joins are not supported";
constexpr char kText[] = "unexpected text after the statement";

constexpr Refused kRefused[] = {
    // What a column cannot honour.
    {"state b {\n", kNested, "Line 3, column 9"},
    {"state \"B\" as b {\n", kNested, "Line 3, column 16"},
    {"  state b{\n", kNested, "Line 3, column 10"},
    {"state {", kNested, "Line 3, column 7"},
    {"b {", kNested, "Line 3, column 3"},
    {"{", kNested, "Line 3, column 1"},
    {"b\n}", kNested, "Line 4, column 1"},
    {"a --> b {", kNested, "Line 3, column 9"},
    {"a --> {", kNested, "Line 3, column 7"},
    {"b\n --\nc", "parallel regions are not supported", "Line 4, column 2"},
    {"---", "parallel regions are not supported", "Line 3, column 1"},
    {"state c <<choice>>", kChoices, "Line 3, column 9"},
    {"state c <<fork>>", kChoices, "Line 3, column 9"},
    {"state c<<join>>", kChoices, "Line 3, column 8"},
    {"state c [[fork]]", kChoices, "Line 3, column 9"},
    {"state \"C\" as c <<choice>>", kChoices, "Line 3, column 16"},
    {"a --> [H]", "history states are not supported", "Line 3, column 7"},
    {"a --> [H*]", "history states are not supported", "Line 3, column 7"},
    {"[H] --> a", "history states are not supported", "Line 3, column 1"},
    // What no machine is.
    {"[*] --> [*]", "\"[*]\" cannot lead to \"[*]\"", "Line 3, column 1"},
    {" [*]-->[*] : x", "\"[*]\" cannot lead to \"[*]\"", "Line 3, column 2"},
    {"b --> [*]\nb --> c", "state \"b\" is final and has a way out", "Line 4, column 1"},
    {"b --> c\n b --> [*]", "state \"b\" is final and has a way out", "Line 4, column 2"},
    {"b --> [*]\nb --> b : x\nb --> c : y", "state \"b\" is final and has a way out",
     "Line 5, column 1"},
    {"a --> b : x\na --> c : y,  x", "event \"x\" leads from \"a\" to \"b\" and to \"c\"",
     "Line 4, column 15"},
    {"a --> b : x\na --> a : x", "event \"x\" leads from \"a\" to \"b\" and to \"a\"",
     "Line 4, column 11"},
    // Transitions.
    {"a -> b", kArrow, "Line 3, column 3"},
    {"a->b", kArrow, "Line 3, column 2"},
    {"a --b", kArrow, "Line 3, column 3"},
    {"a--->b", kArrow, "Line 3, column 2"},
    {"a - b", kArrow, "Line 3, column 3"},
    {"a ==> b", kArrow, "Line 3, column 3"},
    {"a <-- b", kArrow, "Line 3, column 3"},
    {"in progress --> b", kArrow, "Line 3, column 4"},
    {"a b", kArrow, "Line 3, column 3"},
    {"a;", kArrow, "Line 3, column 2"},
    {"[*]", "expected \"-->\" after \"[*]\"", "Line 3, column 4"},
    {"[*] : born", "expected \"-->\" after \"[*]\"", "Line 3, column 5"},
    {"[*] {", "expected \"-->\" after \"[*]\"", "Line 3, column 5"},
    {"a -->", "expected a state", "Line 3, column 6"},
    {"a --> \t", "expected a state", "Line 3, column 6"},
    {"a --> : x", "expected a state", "Line 3, column 7"},
    {"--> a", "expected a state", "Line 3, column 1"},
    {"\t-a --> b", "expected a state", "Line 3, column 2"},
    {"\"In progress\" --> b", "expected a state", "Line 3, column 1"},
    {"[a] --> b", "expected a state", "Line 3, column 1"},
    {": x", "expected a state", "Line 3, column 1"},
    {"# comment", "expected a state", "Line 3, column 1"},
    {"```", "expected a state", "Line 3, column 1"},
    {"a --> b --> c", kText, "Line 3, column 9"},
    {"a --> b;", kText, "Line 3, column 8"},
    {"a --> b c", kText, "Line 3, column 9"},
    {"a --> b-", kText, "Line 3, column 8"},
    {"Größe --> ü ö", kText, "Line 3, column 13"},
    {"a:::", "expected the name of a class after \":::\"", "Line 3, column 5"},
    {"a --> b::: : x", "expected the name of a class after \":::\"", "Line 3, column 12"},
    // Names.
    {"a --> note", "\"note\" cannot name a state", "Line 3, column 7"},
    {" note --> a", "\"note\" cannot name a state", "Line 3, column 2"},
    {"state", "\"state\" cannot name a state", "Line 3, column 1"},
    {"State : x", "\"State\" cannot name a state", "Line 3, column 1"},
    {"state class", "\"class\" cannot name a state", "Line 3, column 7"},
    {"default", "\"default\" cannot name a state", "Line 3, column 1"},
    {"default --> a", "\"default\" cannot name a state", "Line 3, column 1"},
    {"stateDiagram-v2", "\"stateDiagram-v2\" cannot name a state", "Line 3, column 1"},
    {"a --> b\xC2\xA0", "there is a no-break space in a name", "Line 3, column 7"},
    {"a --> b : x\xC2\xA0y", "there is a no-break space in a name", "Line 3, column 11"},
    // Events.
    {"a --> b :", "expected the name of an event", "Line 3, column 10"},
    {"a --> b : x,", "expected the name of an event", "Line 3, column 13"},
    {"a --> b : x,, y", "expected the name of an event", "Line 3, column 13"},
    {"a --> b : , y", "expected the name of an event", "Line 3, column 11"},
    {"a --> b : x;", kEventPlace, "Line 3, column 12"},
    {"a --> b : x: y", kEventPlace, "Line 3, column 12"},
    {"a --> b : paid [amount > 0]", kEventPlace, "Line 3, column 16"},
    {"a --> b : \"x\"", kEventPlace, "Line 3, column 11"},
    {"a --> b : x --> y", kEventPlace, "Line 3, column 15"},
    {"a --> b : x\ty", kEventPlace, "Line 3, column 13"},
    // Declarations.
    {"state \"B\" b", "expected \"as\" after the description", "Line 3, column 11"},
    {"state \"B\"", "expected \"as\" after the description", "Line 3, column 10"},
    {"state \"B\" assign", "expected \"as\" after the description", "Line 3, column 11"},
    {"state \"B\" as", "expected a state", "Line 3, column 13"},
    {"state \"B as b", "expected a state", "Line 3, column 7"},
    {"state [*]", "expected a state", "Line 3, column 7"},
    {"state b as \"B\"", kText, "Line 3, column 9"},
    {"state b --> c", kText, "Line 3, column 9"},
    // Looks.
    {"direction", "\"direction\" cannot name a state", "Line 3, column 1"},
    {"direction sideways", "unknown direction", "Line 3, column 11"},
    {"direction LR RL", kText, "Line 3, column 14"},
    {"hide", "\"hide\" cannot name a state", "Line 3, column 1"},
    {"hide empty", kArrow, "Line 3, column 6"},
    {"hide empty description x", kText, "Line 3, column 24"},
    {"href \"x\"", kArrow, "Line 3, column 6"},
    {"note over a", "expected \"left of\" or \"right of\" after \"note\"", "Line 3, column 6"},
    {"note left a", "expected \"left of\" or \"right of\" after \"note\"", "Line 3, column 11"},
    {"note left of", "expected a state", "Line 3, column 13"},
    {"\n note right of a\nb --> c\n", "the note does not end", "Line 4, column 2"},
    {"accDescr x", "expected \":\" or \"{\"", "Line 3, column 10"},
    {"\n accDescr { x\nb --> c", "the description does not end", "Line 4, column 2"},
    {"accDescr { x } b --> c", kText, "Line 3, column 16"},
    {"%% x\n%%{init: x\nb --> c", "the directive does not end", "Line 4, column 1"},
    // Characters.
    {"b\x01", "it holds a control character", "Line 3, column 2"},
    {"%% \x7f", "it holds a control character", "Line 3, column 4"},
    {"b : ü\x1b[0m", "it holds a control character", "Line 3, column 6"},
    {"b\rc", "it holds a control character", "Line 3, column 2"},
    {"note left of b\n\x0c\nend note", "it holds a control character", "Line 4, column 1"},
};

std::string printable(std::string text) {
  for (char &byte : text)
    if ((byte >= 0 && byte < ' ') || byte == '\x7f') byte = ' ';
  return text;
}

TEST(ReadDiagram, RefusesWithThePlaceAndTheLine) {
  for (const Refused &refused : kRefused) {
    const std::string text = std::string(kHead) + refused.text;
    SCOPED_TRACE(refused.text);
    const Error error = diagram_error(text);
    EXPECT_STREQ(error.code(), "ID400");
    EXPECT_EQ(error.what(), "cannot read the diagram: " + std::string(refused.message));
    const std::string place = refused.place;
    const std::string shown = printable(line(text, std::stoul(place.substr(5))));
    EXPECT_EQ(error.detail(), place + ": \"" + shown + "\".");
    EXPECT_STRNE(error.hint(), "");
  }
}

TEST(ReadDiagram, RefusesWhatDoesNotBeginAsOne) {
  const struct {
    const char *text;
    const char *message;
    const char *detail;
  } cases[] = {
      {"", "it is empty", ""},
      {"\n \n%% x\n", "it is empty", ""},
      {"---\nx\n---", "it is empty", ""},
      {"graph LR\n", "expected \"stateDiagram-v2\"", "Line 1, column 1: \"graph LR\"."},
      {"\n  ```mermaid\nstateDiagram-v2\n", "expected \"stateDiagram-v2\"",
       "Line 2, column 3: \"```mermaid\"."},
      {"stateDiagram-v3", "expected \"stateDiagram-v2\"", "Line 1, column 1: \"stateDiagram-v3\"."},
      {"statediagram", "expected \"stateDiagram-v2\"", "Line 1, column 1: \"statediagram\"."},
      {"stateDiagrams", "expected \"stateDiagram-v2\"", "Line 1, column 1: \"stateDiagrams\"."},
      {"[*] --> a", "expected \"stateDiagram-v2\"", "Line 1, column 1: \"[*] --> a\"."},
      {"---- \nx\n---\nstateDiagram-v2", "expected \"stateDiagram-v2\"",
       "Line 1, column 4: \"----\"."},
      {"stateDiagram-v2 LR", "unexpected text after the statement",
       "Line 1, column 17: \"stateDiagram-v2 LR\"."},
      {"\n---\nx: y\nstateDiagram-v2\na", "the front matter does not end",
       "Line 2, column 1: \"---\"."},
      {"stateDiagram-v2", "it has no states", ""},
      {"stateDiagram-v2\n%% x\n\n", "it has no states", ""},
      {"stateDiagram-v2\ndirection LR", "no state is initial", ""},
      {"stateDiagram-v2\na --> b", "no state is initial", ""},
  };
  for (const auto &wrong : cases) {
    SCOPED_TRACE(wrong.text);
    const Error error = diagram_error(wrong.text);
    EXPECT_STREQ(error.code(), "ID400");
    EXPECT_EQ(error.what(), "cannot read the diagram: " + std::string(wrong.message));
    EXPECT_STREQ(error.detail(), wrong.detail);
    EXPECT_STRNE(error.hint(), "");
  }
}

TEST(ReadDiagram, ShortensALongLineAtACharacter) {
  const std::string wide = "ä";  // two bytes
  std::string text = "a ~ ";
  for (int i = 0; i < 200; i++) text += i % 10 == 9 ? " " : wide;
  const std::string detail = diagram_error(kHead + text).detail();
  std::string kept = "a ~ ";
  // 19 bytes make ten characters, and 120 bytes are the most that is shown.
  for (int i = 0; i < 60; i++) kept += i % 10 == 9 ? " " : wide;
  EXPECT_EQ(detail, "Line 3, column 3: \"" + kept + "...\".");
}

TEST(ReadDiagram, HoldsToItsLimits) {
  const std::string name(kMaxNameBytes, 'x');
  EXPECT_EQ(read_as(kHead + name), "*a! " + name + "! |");
  EXPECT_STREQ(diagram_error(kHead + name + "x").what(),
               "cannot read the diagram: the name of a state is longer than 128 bytes");
  EXPECT_EQ(read_as(kHead + ("a --> b : " + name)), "*a b! | a>b:" + name);
  EXPECT_STREQ(diagram_error(kHead + ("a --> b : " + name + "x")).what(),
               "cannot read the diagram: the name of an event is longer than 128 bytes");

  std::string text = kHead;
  for (std::size_t i = 1; i < kMaxStates; i++) text += "s" + std::to_string(i) + "\n";
  EXPECT_EQ(read_diagram(text).states.size(), kMaxStates);
  Error error = diagram_error(text + "one more");
  EXPECT_STREQ(error.what(), "cannot read the diagram: expected \"-->\" after a state");
  error = diagram_error(text + "more");
  EXPECT_STREQ(error.what(), "cannot read the diagram: more than 1000 states");
  EXPECT_STREQ(error.detail(), "Line 1002, column 1: \"more\".");

  text = kHead;
  text.resize(kMaxDiagramBytes, ' ');
  EXPECT_EQ(read_as(text), "*a! |");
  error = diagram_error(text + " ");
  EXPECT_STREQ(error.what(), "diagram is too large");
  EXPECT_STREQ(error.detail(), "It has 262145 bytes; the limit is 262144.");
}

TEST(ReadDiagram, HoldsToTheLimitOfTransitions) {
  // Half of them by pairs, half by events of one pair.
  std::string text = kHead;
  for (int from = 0; from < 100; from++)
    for (int to = 0; to < 100; to++)
      text += std::to_string(from) + "-->" + std::to_string(to) + "\n";
  text += "a --> b : e0";
  for (int i = 1; i < 10000; i++) text += ",e" + std::to_string(i);
  EXPECT_EQ(read_diagram(text).transitions.size(), kMaxTransitions);
  EXPECT_EQ(read_diagram(text + ",e0\n0-->0\n99-->0:x").transitions.size(), kMaxTransitions);
  for (const char *more : {",x", "\na --> c", "\n99-->0:x,y"}) {
    EXPECT_STREQ(diagram_error(text + more).what(),
                 "cannot read the diagram: more than 20000 transitions");
  }
}

Definition edges(const std::vector<std::string_view> &initial, const std::vector<Edge> &edges) {
  return read_edges(initial, edges);
}

// Fills the largest diagram with repetitions of a part.
std::string filled(const std::string &beginning, const std::string &part) {
  std::string text = kHead + beginning;
  while (text.size() + part.size() <= kMaxDiagramBytes) text += part;
  return text;
}

// Reading takes milliseconds. If it looked again and again through the rest of the text, some of
// these would take minutes.
TEST(ReadDiagram, TakesNoLongerThanItsTextIsLong) {
  const struct {
    const char *beginning;
    const char *part;
  } cases[] = {
      {"", "a --> b\n"},        {"", "a : b\n"},       {"", "\n"},           {"", " "},
      {"a : ", "\""},           {"a : ", "\" %"},      {"a : ", "#"},        {"a : ", "#35;"},
      {"a : ", "% "},           {"", "%%{\n"},         {"", "%%{}%%"},       {"", "accDescr {\n"},
      {"", "note left of a\n"}, {"", "accDescr {}\n"}, {"", "x-"},           {"a", "-"},
      {"a --> b : x", "  "},    {"a --> b : ", "x, "}, {"a --> b : ", "x "}, {"a ~ ", "\xC3\xA4"},
  };
  for (const auto &shape : cases) {
    const std::string text = filled(shape.beginning, shape.part);
    const std::clock_t start = std::clock();
    try {
      read_diagram(text);
    } catch (const Error &error) {
      EXPECT_STREQ(error.code(), "ID400");
    }
    EXPECT_LT(std::clock() - start, 5 * CLOCKS_PER_SEC) << shape.beginning << shape.part;
  }
}

TEST(ReadEdges, ReadsTheSameMachines) {
  EXPECT_EQ(text_of(edges({"a"}, {})), "*a! |");
  EXPECT_EQ(text_of(edges({"b", "a", "b"}, {})), "*b! *a! |");
  EXPECT_EQ(text_of(edges({"a"}, {{"a", "b", ""}, {"b", "c", "x"}, {"b", "c", "y z"}})),
            "*a b c! | a>b b>c:x b>c:y z");
  EXPECT_EQ(text_of(edges({"a"}, {{"a", "b", ""}, {"a", "b", "x"}, {"a", "b", "x"}})),
            "*a b! | a>b:x");
  EXPECT_EQ(text_of(edges({"c"}, {{"a", "b", "x"}, {"a", "a", ""}, {"a", "b", "y"}})),
            "*c! a b! | a>b:x a>b:y a>a");
}

TEST(ReadEdges, RefusesWithTheRow) {
  const std::string name(kMaxNameBytes + 1, 'x');
  const struct {
    std::vector<std::string_view> initial;
    std::vector<Edge> edges;
    std::string message;
    std::string detail;
  } cases[] = {
      {{}, {{"a", "b", ""}}, "no state is initial", ""},
      {{"a", ""}, {}, "a state's name is empty", "Initial state 2: \"\"."},
      {{"in progress"},
       {},
       "\"in progress\" cannot name a state",
       "Initial state 1: \"in progress\"."},
      {{"[*]"}, {}, "\"[*]\" cannot name a state", "Initial state 1: \"[*]\"."},
      {{"NOTE"}, {}, "\"NOTE\" cannot name a state", "Initial state 1: \"NOTE\"."},
      {{name},
       {},
       "the name of a state is longer than 128 bytes",
       "Initial state 1: \"" + name.substr(0, 120) + "...\"."},
      {{"a"},
       {{"a", "b", ""}, {"a", "b\n", ""}},
       "\"b \" cannot name a state",
       "Transition 2: \"a --> b \"."},
      {{"a"}, {{"", "b", ""}}, "a state's name is empty", "Transition 1: \" --> b\"."},
      {{"a"},
       {{"a", "b", "x"}, {"a", "c", "x"}},
       "event \"x\" leads from \"a\" to \"b\" and to \"c\"",
       "Transition 2: \"a --> c : x\"."},
      {{"a"},
       {{"a", "b", "x,y"}},
       "\"x,y\" cannot name an event",
       "Transition 1: \"a --> b : x,y\"."},
      {{"a"}, {{"a", "b", " x"}}, "\" x\" cannot name an event", "Transition 1: \"a --> b :  x\"."},
      {{"a"},
       {{"a", "b", "x\ty"}},
       "\"x y\" cannot name an event",
       "Transition 1: \"a --> b : x y\"."},
      {{"a"},
       {{"a", "b", name}},
       "the name of an event is longer than 128 bytes",
       "Transition 1: \"a --> b : " + name.substr(0, 110) + "...\"."},
  };
  for (const auto &wrong : cases) {
    SCOPED_TRACE(wrong.message);
    const Error error = error_of([&] { return read_edges(wrong.initial, wrong.edges); });
    EXPECT_STREQ(error.code(), "ID400");
    EXPECT_EQ(error.what(), "cannot read the machine: " + wrong.message);
    EXPECT_EQ(error.detail(), wrong.detail);
    EXPECT_STRNE(error.hint(), "");
  }
}

TEST(ReadEdges, RefusesAMachineThatNoDiagramCouldHold) {
  std::vector<std::string> names;
  for (int i = 0; i < 100; i++) names.push_back(std::to_string(100 + i) + std::string(58, 'x'));
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < 1940; i++) edges.push_back({names[i / 100], names[i % 100], ""});
  // The one event makes the size exact.
  const std::string event(52, 'e');
  edges.back().event = std::string_view(event).substr(1);
  const std::string drawing = draw_mermaid(read_edges({names[0]}, edges), {});
  EXPECT_EQ(drawing.size(), kMaxDiagramBytes);
  EXPECT_EQ(read_diagram(drawing).transitions.size(), edges.size());

  edges.back().event = event;
  const Error error = error_of([&] { return read_edges({names[0]}, edges); });
  EXPECT_STREQ(error.code(), "ID400");
  EXPECT_STREQ(error.what(), "machine is too large");
  EXPECT_STREQ(error.detail(), "Its diagram has 262145 bytes; the limit is 262144.");
}

TEST(IsStateName, KnowsTheWordsOfTheLanguage) {
  for (const char *word :
       {"state", "note", "direction", "class", "classDef", "style", "click", "href", "hide",
        "scale", "default", "accTitle", "accDescr", "stateDiagram", "stateDiagram-v2", "Default"})
    EXPECT_FALSE(is_state_name(word)) << word;
  for (const char *word :
       {"states", "notes", "end", "as", "left", "stateDiagram-v3", "x", "ä", "1"})
    EXPECT_TRUE(is_state_name(word)) << word;
  EXPECT_TRUE(is_state_name(std::string(kMaxNameBytes, 'x')));
  EXPECT_FALSE(is_state_name(std::string(kMaxNameBytes + 1, 'x')));
  EXPECT_FALSE(is_state_name(""));
}

// The three ways of asking must agree about every text, made of what the rule is about.
TEST(IsStateName, AgreesWithBothReaders) {
  std::mt19937 random(1);
  const std::string nasty = "ab-_.9Z -:>[*]{}\"%,;#\t\xC3\xA4\xC2\xA0";
  int names = 0;
  for (int round = 0; round < 10000; round++) {
    std::string name;
    for (std::size_t length = random() % 6; name.size() <= length;)
      name += random() % 2 == 0 ? nasty[random() % nasty.size()] : nasty[random() % 7];
    SCOPED_TRACE(name);
    const bool allowed = is_state_name(name);
    names += allowed ? 1 : 0;
    const auto reads = [&name](auto read) {
      try {
        return read().states.back().name == name;
      } catch (const Error &) {
        return false;
      }
    };
    const std::string head = "stateDiagram-v2\n[*] --> q\n";
    EXPECT_EQ(reads([&] { return read_edges({name}, {}); }), allowed);
    EXPECT_EQ(reads([&] { return read_diagram(head + "q-->" + name); }), allowed);
    EXPECT_EQ(reads([&] { return read_diagram(head + name + "-->q"); }), allowed);
    EXPECT_EQ(reads([&] { return read_diagram(head + name); }), allowed);
  }
  EXPECT_GT(names, 1000);
}

}  // namespace

}  // namespace idem::machines
