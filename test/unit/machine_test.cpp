// Every machine of up to three states, judged beside the rules as the header states them.

#include "machines/machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace idem::machines {

namespace {

// A compiled machine in a block of exactly the size that was asked for.
class Compiled {
 public:
  explicit Compiled(const Definition &definition)
      : size_(compiled_size(definition)),
        block_(static_cast<std::byte *>(::operator new(size_))),
        machine_(compile(definition, block_.get())) {}

  const Machine &operator*() const { return *machine_; }

  bool holds(const void *part) const {
    const auto *byte = static_cast<const std::byte *>(part);
    return byte >= block_.get() && byte < block_.get() + size_;
  }

 private:
  struct Free {
    void operator()(std::byte *block) const { ::operator delete(block); }
  };

  std::size_t size_;
  std::unique_ptr<std::byte, Free> block_;
  const Machine *machine_;
};

const char *name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::same:
      return "same";
    case Verdict::allowed:
      return "allowed";
    case Verdict::not_declared:
      return "not declared";
    case Verdict::final_state:
      return "final state";
    case Verdict::not_initial:
      return "not initial";
    case Verdict::unknown_state:
      return "unknown state";
  }
  return "none";
}

const char *name_of(Reaction reaction) {
  switch (reaction) {
    case Reaction::apply:
      return "apply";
    case Reaction::none:
      return "none";
    case Reaction::not_declared:
      return "not declared";
    case Reaction::final_state:
      return "final state";
    case Reaction::unknown_event:
      return "unknown event";
    case Reaction::unknown_state:
      return "unknown state";
  }
  return "none";
}

std::string said(const Response &response) {
  std::string text = name_of(response.reaction);
  if (response.reaction == Reaction::apply || response.reaction == Reaction::none)
    text += " " + std::to_string(response.to);
  return text;
}

constexpr const char *kEvents[] = {"", "e", "f"};

// The rules, by looking through the whole definition for each question.
class Rules {
 public:
  explicit Rules(const Definition &definition) : definition_(definition) {}

  bool leads(StateIndex from, StateIndex to) const {
    return any([=](const Transition &each) { return is(each.from, from) && is(each.to, to); });
  }

  bool ends(StateIndex state) const {
    return !any(
        [=](const Transition &each) { return is(each.from, state) && each.to != each.from; });
  }

  std::string change(StateIndex from, StateIndex to) const {
    if (to == kUnknown) return "unknown state";
    if (from == to) return "same";
    if (from == kUnknown) return "unknown state";
    if (leads(from, to)) return "allowed";
    return ends(from) ? "final state" : "not declared";
  }

  std::string birth(StateIndex to) const {
    if (to == kUnknown) return "unknown state";
    return definition_.states[static_cast<std::size_t>(to)].initial ? "allowed" : "not initial";
  }

  std::string event(StateIndex from, const std::string &event) const {
    if (from == kUnknown) return "unknown state";
    if (event.empty() || !any([&](const Transition &each) { return each.event == event; }))
      return "unknown event";
    for (const Transition &each : definition_.transitions)
      if (is(each.from, from) && each.event == event && each.to != each.from)
        return "apply " + std::to_string(each.to);
    if (any([&](const Transition &each) { return is(each.to, from) && each.event == event; }))
      return "none " + std::to_string(from);
    return ends(from) ? "final state" : "not declared";
  }

 private:
  static bool is(std::size_t state, StateIndex index) {
    return static_cast<StateIndex>(state) == index;
  }

  template <typename Predicate>
  bool any(Predicate predicate) const {
    return std::any_of(definition_.transitions.begin(), definition_.transitions.end(), predicate);
  }

  const Definition &definition_;
};

// Compares without the framework while there is no difference: there are millions of questions.
class Differences {
 public:
  void compare(const std::string &question, StateIndex from, StateIndex to,
               const std::string &answer, const std::string &rule) {
    asked_++;
    if (answer == rule || differences_++ > 20) return;
    ADD_FAILURE() << question << " from " << from << " to " << to << " is \"" << answer
                  << "\" and should be \"" << rule << "\"";
  }
  long asked() const { return asked_; }

 private:
  long asked_ = 0;
  int differences_ = 0;
};

void ask_everything(const Definition &definition, Differences &differences) {
  const Rules rules(definition);
  const Compiled compiled(definition);
  const Machine &machine = *compiled;
  for (StateIndex from = kUnknown; from < machine.states; from++) {
    differences.compare("birth", kUnknown, from, name_of(judge_birth(machine, from)),
                        rules.birth(from));
    for (StateIndex to = kUnknown; to < machine.states; to++) {
      differences.compare("change", from, to, name_of(judge_change(machine, from, to)),
                          rules.change(from, to));
    }
    for (const char *event : {"e", "f", "never", ""}) {
      differences.compare(std::string("event ") + event, from, kUnknown,
                          said(respond(machine, from, event)), rules.event(from, event));
    }
  }
}

// Whether an event leads out of a state to two targets, which no reader lets through.
bool is_ambiguous(const Definition &definition) {
  for (const Transition &one : definition.transitions)
    for (const Transition &other : definition.transitions)
      if (!one.event.empty() && one.event == other.event && one.from == other.from &&
          one.to != other.to)
        return true;
  return false;
}

// Each digit of `form` says of a pair of states whether it has a transition, and with what event.
Definition machine_of(std::size_t states, std::size_t initial, std::size_t form) {
  Definition definition;
  for (std::size_t i = 0; i < states; i++) {
    State state;
    state.name = std::string(i + 1, 's');
    state.initial = (initial >> i & 1U) != 0;
    definition.states.push_back(state);
  }
  for (std::size_t pair = 0; pair < states * states; pair++, form /= 4) {
    if (form % 4 == 3) continue;
    definition.transitions.push_back({pair / states, pair % states, kEvents[form % 4]});
  }
  const Rules rules(definition);
  for (std::size_t i = 0; i < states; i++)
    definition.states[i].final = rules.ends(static_cast<StateIndex>(i));
  return definition;
}

TEST(Judge, AgreesWithTheRulesForEveryMachineOfUpToThreeStates) {
  Differences differences;
  for (std::size_t states = 1; states <= 3; states++) {
    const std::size_t forms = std::size_t{1} << (2 * states * states);
    for (std::size_t form = 0; form < forms; form++) {
      const Definition definition = machine_of(states, form % (std::size_t{1} << states), form);
      if (!is_ambiguous(definition)) ask_everything(definition, differences);
    }
  }
  EXPECT_GT(differences.asked(), 1000000);
}

TEST(Judge, AgreesAboutEveryInitialState) {
  Differences differences;
  for (std::size_t initial = 0; initial < 8; initial++)
    ask_everything(machine_of(3, initial, 0), differences);
}

// Rows of bits that end within a word, at its end, and behind it.
TEST(Judge, AgreesForMachinesOfManyStates) {
  std::mt19937 random(1);
  for (const std::size_t states : {4U, 63U, 64U, 65U, 127U, 128U, 129U, 1000U}) {
    SCOPED_TRACE(states);
    Definition definition;
    for (std::size_t i = 0; i < states; i++) {
      State state;
      state.name = "s" + std::to_string(i);
      state.initial = random() % 2 == 0;
      definition.states.push_back(state);
    }
    std::vector<bool> leads(states * states);
    std::vector<bool> goes(states);
    for (std::size_t count = 0; count < 5 * states; count++) {
      const std::size_t from = random() % states;
      const std::size_t to = count % 2 == 0 ? random() % states : states - 1 - random() % 3;
      definition.transitions.push_back({from, to, ""});
      leads[from * states + to] = true;
      if (from != to) goes[from] = true;
    }
    for (std::size_t i = 0; i < states; i++) definition.states[i].final = !goes[i];
    const Compiled compiled(definition);
    for (std::size_t from = 0; from < states; from++) {
      for (std::size_t to = 0; to < states; to++) {
        const Verdict otherwise = goes[from] ? Verdict::not_declared : Verdict::final_state;
        const Verdict rule = from == to                  ? Verdict::same
                             : leads[from * states + to] ? Verdict::allowed
                                                         : otherwise;
        if (judge_change(*compiled, static_cast<StateIndex>(from), static_cast<StateIndex>(to)) !=
            rule)
          FAIL() << "from " << from << " to " << to;
      }
    }
  }
}

TEST(FindState, TellsNamesFromTheirBeginnings) {
  const Compiled compiled(read_edges({"paid", "pai", "paid2"}, {}));
  EXPECT_EQ(find_state(*compiled, "paid"), 0);
  EXPECT_EQ(find_state(*compiled, "pai"), 1);
  EXPECT_EQ(find_state(*compiled, "paid2"), 2);
  for (const char *name : {"", "p", "paid22", "Paid", "paid "})
    EXPECT_EQ(find_state(*compiled, name), kUnknown) << name;
  EXPECT_EQ(find_state(*compiled, std::string_view("paid\0", 5)), kUnknown);
}

TEST(Respond, ToAnEventThatLedHereAndLeadsOn) {
  const Compiled compiled(read_edges({"a"}, {{"a", "b", "next"}, {"b", "c", "next"}}));
  EXPECT_EQ(said(respond(*compiled, 0, "next")), "apply 1");
  EXPECT_EQ(said(respond(*compiled, 1, "next")), "apply 2");
  EXPECT_EQ(said(respond(*compiled, 2, "next")), "none 2");
  EXPECT_EQ(said(respond(*compiled, 2, "nex")), "unknown event");
}

// The block outlives the definition, and goes where a cache puts it.
TEST(Compile, KeepsEverythingInTheBlock) {
  auto definition = std::make_unique<Definition>(
      read_edges({"a"}, {{"a", "a_rather_long_name_of_a_state", ""},
                         {"a", "b", "an event with a name that owns memory"}}));
  const Compiled compiled(*definition);
  definition.reset();
  const Machine &machine = *compiled;
  EXPECT_TRUE(compiled.holds(&machine));
  EXPECT_TRUE(compiled.holds(machine.allowed + machine.states * machine.words - 1));
  ASSERT_EQ(machine.states, 3);
  for (StateIndex i = 0; i < machine.states; i++) {
    EXPECT_TRUE(compiled.holds(&machine.state[i]));
    EXPECT_TRUE(compiled.holds(machine.state[i].name));
  }
  EXPECT_STREQ(machine.state[1].name, "a_rather_long_name_of_a_state");
  ASSERT_EQ(machine.transitions, 2);
  EXPECT_EQ(machine.transition[0].event, nullptr);
  EXPECT_TRUE(compiled.holds(machine.transition[1].event));
  EXPECT_STREQ(machine.transition[1].event, "an event with a name that owns memory");
}

}  // namespace

}  // namespace idem::machines
