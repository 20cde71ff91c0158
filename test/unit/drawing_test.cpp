// Drawings, word by word for a few machines, and read back for very many.

#include "machines/drawing.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "definition_text.hpp"
#include "server/error.hpp"

namespace idem::machines {

namespace {

Definition read(const std::string &statements) {
  return read_diagram("stateDiagram-v2\n" + statements);
}

Definition order() {
  return read(
      "[*] --> pending\n"
      "pending --> paid : pay, settle\n"
      "paid --> shipped\n"
      "pending --> cancelled : cancel\n"
      "state \"Waiting for \tpayment\" as pending\n"
      "paid --> cancelled : cancel\n"
      "shipped --> [*]");
}

TEST(DrawMermaid, WritesWhatAPersonWouldWrite) {
  EXPECT_EQ(draw_mermaid(order(), {}),
            "stateDiagram-v2\n"
            "    state \"Waiting for  payment\" as pending\n"
            "    [*] --> pending\n"
            "    pending --> paid : pay, settle\n"
            "    paid --> shipped\n"
            "    pending --> cancelled : cancel\n"
            "    paid --> cancelled : cancel\n"
            "    shipped --> [*]\n"
            "    cancelled --> [*]\n");
}

TEST(DrawMermaid, KeepsTheOrderOfTheStates) {
  EXPECT_EQ(draw_mermaid(read("lost\nfound\n[*] --> a\na --> b\nb --> found\n[*] --> b\nc"), {}),
            "stateDiagram-v2\n"
            "    lost\n"
            "    found\n"
            "    [*] --> a\n"
            "    [*] --> b\n"
            "    a --> b\n"
            "    b --> found\n"
            "    lost --> [*]\n"
            "    found --> [*]\n"
            "    c --> [*]\n");
}

TEST(DrawMermaid, AddsTheCountsToTheDescriptions) {
  EXPECT_EQ(draw_mermaid(read("[*] --> a\na : In \"work\"\na --> b"), {0, 12}),
            "stateDiagram-v2\n"
            "    state \"In #quot;work#quot; (0)\" as a\n"
            "    [*] --> a\n"
            "    state \"b (12)\" as b\n"
            "    a --> b\n"
            "    b --> [*]\n");
}

TEST(DrawMermaid, EscapesWhatWouldBeReadOtherwise) {
  const Definition definition = read("[*] --> a\na : #35;quot; \"x\" %#37;{ #5 #9829; #35;65;");
  EXPECT_EQ(definition.states[0].description, "#quot; \"x\" %%{ #5 #9829; #65;");
  EXPECT_EQ(draw_mermaid(definition, {}),
            "stateDiagram-v2\n"
            "    state \"#35;quot; #quot;x#quot; #37;%{ #5 #9829; #35;65;\" as a\n"
            "    [*] --> a\n"
            "    a --> [*]\n");
}

TEST(DrawDot, WritesADigraph) {
  EXPECT_EQ(draw_dot(order(), "order", {}),
            "digraph \"order\" {\n"
            "    node [shape=box, style=rounded];\n"
            "    \"[*]\" [shape=point, width=0.2];\n"
            "    \"pending\" [label=\"Waiting for  payment\"];\n"
            "    \"paid\" [label=\"paid\"];\n"
            "    \"shipped\" [label=\"shipped\", peripheries=2];\n"
            "    \"cancelled\" [label=\"cancelled\", peripheries=2];\n"
            "    \"[*]\" -> \"pending\";\n"
            "    \"pending\" -> \"paid\" [label=\"pay, settle\"];\n"
            "    \"paid\" -> \"shipped\";\n"
            "    \"pending\" -> \"cancelled\" [label=\"cancel\"];\n"
            "    \"paid\" -> \"cancelled\" [label=\"cancel\"];\n"
            "}\n");
}

TEST(DrawDot, QuotesNamesAndLabels) {
  EXPECT_EQ(draw_dot(read("[*] --> node\nnode : \"R&D\" \\N <b>x</b>"), "a \"b\" \\", {3}),
            "digraph \"a \\\"b\\\" \\\\\" {\n"
            "    node [shape=box, style=rounded];\n"
            "    \"[*]\" [shape=point, width=0.2];\n"
            "    \"node\" [label=\"\\\"R&amp;D\\\" \\\\N <b>x</b> (3)\", peripheries=2];\n"
            "    \"[*]\" -> \"node\";\n"
            "}\n");
}

// Any machine that a definition can hold, with descriptions out of what drawing must escape.
class AnyMachine {
 public:
  explicit AnyMachine(std::uint32_t seed) : random_(seed) {}

  Definition draw() {
    Definition definition;
    const std::size_t states = 1 + below(below(10) == 0 ? 70 : 6);
    for (std::size_t i = 0; i < states; i++) {
      State state;
      state.name = name(i);
      state.initial = i == 0 || below(4) == 0;
      state.final = true;
      if (below(3) == 0) state.description = description();
      definition.states.push_back(state);
    }
    shuffle(definition.states.begin(), definition.states.end(), random_);
    add_transitions(definition);
    return definition;
  }

 private:
  std::size_t below(std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_);
  }

  std::string name(std::size_t i) {
    static const std::string kForms[] = {"s", "in-", "\xC3\xA4.", "state", "end_"};
    return kForms[below(5)] + std::to_string(i);
  }

  std::string description() {
    static const std::string kParts[] = {"\"", "#",  ";", "quot", "35", "37",  "%%", "%%{",     "}",
                                         "{",  "--", ">", "[*]",  ":",  ":::", " ",  "\\",      "&",
                                         "lt", "a",  "9", "\n",   ",",  "amp", "65", "\xC3\xA4"};
    std::string text;
    for (std::size_t parts = below(8); parts > 0; parts--) {
      const std::string &part = kParts[below(std::size(kParts))];
      if (part != "\n" && (part != " " || !text.empty())) text += part;
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
  }

  void add_transitions(Definition &definition) {
    const std::size_t states = definition.states.size();
    std::set<std::pair<std::size_t, std::size_t>> pairs;
    std::set<std::pair<std::size_t, std::string>> events;
    for (std::size_t left = below(2 * states + 1); left > 0; left--) {
      const std::size_t from = below(states);
      const std::size_t to = below(states);
      if (!pairs.emplace(from, to).second) continue;
      if (from != to) definition.states[from].final = false;
      const std::size_t before = definition.transitions.size();
      for (std::size_t tries = below(4); tries > 0; tries--) {
        std::string event = "e" + std::to_string(below(4)) + (below(2) == 0 ? "" : " - x");
        if (events.emplace(from, event).second) definition.transitions.push_back({from, to, event});
      }
      if (definition.transitions.size() == before) definition.transitions.push_back({from, to, ""});
    }
  }

  std::mt19937 random_;
};

TEST(DrawMermaid, IsReadAsTheSameMachine) {
  AnyMachine machines(1);
  for (int round = 0; round < 4000; round++) {
    const Definition definition = machines.draw();
    const std::string drawing = draw_mermaid(definition, {});
    SCOPED_TRACE(drawing);
    try {
      ASSERT_EQ(text_of(read_diagram(drawing)), text_of(definition));
    } catch (const Error &error) {
      FAIL() << error.what() << " / " << error.detail();
    }
  }
}

TEST(DrawMermaid, IsReadWithCountsAsTheSameMachineButForTheDescriptions) {
  AnyMachine machines(2);
  for (int round = 0; round < 500; round++) {
    Definition definition = machines.draw();
    Counts counts;
    for (std::size_t i = 0; i < definition.states.size(); i++)
      counts.push_back(static_cast<std::int64_t>(i) * 1000003 * round);
    const std::string drawing = draw_mermaid(definition, counts);
    for (std::size_t i = 0; i < definition.states.size(); i++) {
      State &state = definition.states[i];
      if (state.description.empty()) state.description = state.name;
      state.description += " (" + std::to_string(counts[i]) + ")";
    }
    ASSERT_EQ(text_of(read_diagram(drawing)), text_of(definition)) << drawing;
  }
}

}  // namespace

}  // namespace idem::machines
