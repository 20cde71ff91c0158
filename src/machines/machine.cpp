#include "machines/machine.hpp"

#include <cstring>
#include <new>

namespace idem::machines {

namespace {

constexpr std::size_t aligned(std::size_t size) {
  constexpr std::size_t alignment = alignof(std::max_align_t);
  return (size + alignment - 1) / alignment * alignment;
}

std::size_t words_of(const Definition &definition) {
  return (definition.states.size() + 63) / 64;
}

// Hands out the parts of a block, one after the other.
class Layout {
 public:
  explicit Layout(void *block) : at_(static_cast<char *>(block)) {}

  template <typename Part>
  Part *take(std::size_t count) {
    auto *part = at_;
    at_ += aligned(count * sizeof(Part));
    return new (part) Part[count]();
  }

  const char *keep(const std::string &text) {
    char *copy = at_;
    std::memcpy(copy, text.c_str(), text.size() + 1);
    at_ += text.size() + 1;
    return copy;
  }

 private:
  char *at_;
};

}  // namespace

std::size_t compiled_size(const Definition &definition) {
  const std::size_t states = definition.states.size();
  std::size_t size = aligned(sizeof(Machine)) + aligned(states * sizeof(CompiledState)) +
                     aligned(definition.transitions.size() * sizeof(CompiledTransition)) +
                     aligned(states * words_of(definition) * sizeof(std::uint64_t));
  for (const State &state : definition.states) size += state.name.size() + 1;
  for (const Transition &transition : definition.transitions) size += transition.event.size() + 1;
  return size;
}

const Machine *compile(const Definition &definition, void *block) {
  const std::size_t words = words_of(definition);
  Layout layout(block);
  auto *machine = layout.take<Machine>(1);
  auto *states = layout.take<CompiledState>(definition.states.size());
  auto *transitions = layout.take<CompiledTransition>(definition.transitions.size());
  auto *allowed = layout.take<std::uint64_t>(definition.states.size() * words);
  for (std::size_t i = 0; i < definition.states.size(); i++) {
    const State &state = definition.states[i];
    states[i] = {layout.keep(state.name), static_cast<std::uint32_t>(state.name.size()),
                 state.initial, state.final};
  }
  for (std::size_t i = 0; i < definition.transitions.size(); i++) {
    const Transition &transition = definition.transitions[i];
    transitions[i] = {static_cast<StateIndex>(transition.from),
                      static_cast<StateIndex>(transition.to),
                      transition.event.empty() ? nullptr : layout.keep(transition.event)};
    allowed[transition.from * words + transition.to / 64] |= std::uint64_t{1}
                                                             << (transition.to % 64);
  }
  *machine = {static_cast<StateIndex>(definition.states.size()),
              static_cast<std::int32_t>(definition.transitions.size()),
              static_cast<std::int32_t>(words),
              states,
              transitions,
              allowed};
  return machine;
}

StateIndex find_state(const Machine &machine, std::string_view name) {
  for (StateIndex i = 0; i < machine.states; i++)
    if (name == std::string_view(machine.state[i].name, machine.state[i].length)) return i;
  return kUnknown;
}

Verdict judge_change(const Machine &machine, StateIndex from, StateIndex to) {
  if (to == kUnknown) return Verdict::unknown_state;
  if (from == to) return Verdict::same;
  if (from == kUnknown) return Verdict::unknown_state;
  if (machine.state[from].final) return Verdict::final_state;
  return machine.allows(from, to) ? Verdict::allowed : Verdict::not_declared;
}

Verdict judge_birth(const Machine &machine, StateIndex to) {
  if (to == kUnknown) return Verdict::unknown_state;
  return machine.state[to].initial ? Verdict::allowed : Verdict::not_initial;
}

Response respond(const Machine &machine, StateIndex from, std::string_view event) {
  if (from == kUnknown) return {Reaction::unknown_state, kUnknown};
  bool known = false;
  bool arrived = false;
  for (std::int32_t i = 0; i < machine.transitions; i++) {
    const CompiledTransition &transition = machine.transition[i];
    if (transition.event == nullptr || event != transition.event) continue;
    known = true;
    if (transition.to == from) arrived = true;
    // A transition that leads out of the state comes before the memory of having arrived by one.
    if (transition.from == from && transition.to != from) return {Reaction::apply, transition.to};
  }
  if (arrived) return {Reaction::none, from};
  if (!known) return {Reaction::unknown_event, kUnknown};
  return {machine.state[from].final ? Reaction::final_state : Reaction::not_declared, kUnknown};
}

}  // namespace idem::machines
