// A definition compiled for judging, and the judgements. Pure, and plain memory: a compiled machine
// is one block without pointers to anything outside it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "machines/definition.hpp"

namespace idem::machines {

// Index of a state; kUnknown: a value that the machine does not declare.
using StateIndex = std::int32_t;
inline constexpr StateIndex kUnknown = -1;

struct CompiledState {
  const char *name;  // ends in NUL
  std::uint32_t length;
  bool initial;
  bool final;
};

struct CompiledTransition {
  StateIndex from;
  StateIndex to;
  const char *event;  // null: none
};

struct Machine {
  StateIndex states;
  std::int32_t transitions;
  std::int32_t words;  // of one row of `allowed`
  const CompiledState *state;
  const CompiledTransition *transition;  // in the order of the definition
  const std::uint64_t *allowed;          // a row of bits for each state: where it may go

  bool allows(StateIndex from, StateIndex to) const {
    return (allowed[from * words + to / 64] >> (to % 64) & 1U) != 0;
  }
};

// The size of the block that `definition` takes, and the filling of it; `block` is aligned for any
// object.
std::size_t compiled_size(const Definition &definition);
const Machine *compile(const Definition &definition, void *block);

StateIndex find_state(const Machine &machine, std::string_view name);

enum class Verdict {
  same,  // the value did not change
  allowed,
  not_declared,   // ID001
  final_state,    // ID002
  not_initial,    // ID003
  unknown_state,  // ID004: the new value, or else the old one, is not a state
};

// `from` and `to` may be kUnknown, and are then taken to differ.
Verdict judge_change(const Machine &machine, StateIndex from, StateIndex to);
Verdict judge_birth(const Machine &machine, StateIndex to);

enum class Reaction {
  apply,          // go to `to`
  none,           // the row is where the event leads, so it has happened already
  not_declared,   // ID001
  final_state,    // ID002
  unknown_event,  // ID001: no transition of the machine carries it
  unknown_state,  // ID004
};

struct Response {
  Reaction reaction;
  StateIndex to;  // with `apply` and `none`
};

// What an event does to a row in `from`.
Response respond(const Machine &machine, StateIndex from, std::string_view event);

}  // namespace idem::machines
