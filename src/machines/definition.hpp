// A state machine as its author wrote it: states, and the transitions between them. Pure.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace idem::machines {

inline constexpr std::size_t kMaxDiagramBytes = 256 * 1024;
inline constexpr std::size_t kMaxStates = 1000;
inline constexpr std::size_t kMaxTransitions = 20000;
inline constexpr std::size_t kMaxNameBytes = 128;  // of a state or an event

struct State {
  std::string name;         // the value in the column
  std::string description;  // for people; empty: none
  bool initial = false;     // a row may be born in it
  bool final = false;       // nothing leads to another state
};

// One event at most; a pair with several events is several transitions.
struct Transition {
  std::size_t from;   // index into Definition::states
  std::size_t to;     // likewise
  std::string event;  // empty: none, only a direct write makes this transition
};

// States stand in the order in which they were first named, pairs of states in that of their first
// transition, and the transitions of a pair together. A pair that has an event has no transition
// without one. What stands twice in the source is here once.
struct Definition {
  std::vector<State> states;
  std::vector<Transition> transitions;
};

// One row of the array form: {from, to} or {from, to, event}.
struct Edge {
  std::string_view from;
  std::string_view to;
  std::string_view event;  // empty: none
};

// Reads a Mermaid stateDiagram-v2. Throws idem::Error (ID400) with line and column in the detail
// and the text of the line, for what is not a diagram and for what a machine cannot honour. The
// text is in the server's encoding; every server encoding keeps ASCII to itself.
//
// A label on "[*] --> state" or "state --> [*]" is for people: a birth and an end have no event.
//
// An event is 1 to kMaxNameBytes bytes of what names of states are made of and of spaces inside;
// '-' is anywhere in it.
Definition read_diagram(std::string_view text);

// The same from arrays. Throws idem::Error (ID400), for a machine whose drawing read_diagram would
// find too large as well.
Definition read_edges(const std::vector<std::string_view> &initial, const std::vector<Edge> &edges);

// Whether a name can stand in a diagram: 1 to kMaxNameBytes bytes of ASCII letters, digits, '_',
// '-', '.' and anything beyond ASCII; not "--" inside nor '-' at an end, none of the words that
// diagrams reserve.
bool is_state_name(std::string_view name);

}  // namespace idem::machines
