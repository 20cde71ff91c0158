#include "machines/drawing.hpp"

#include "machines/escapes.hpp"

namespace idem::machines {

namespace {

// The description with the count, as people read it; empty: the name says it all.
std::string label(const Definition &definition, const Counts &counts, std::size_t state) {
  const State &drawn = definition.states[state];
  if (counts.empty()) return drawn.description;
  return (drawn.description.empty() ? drawn.name : drawn.description) + " (" +
         std::to_string(counts[state]) + ")";
}

// The first transition of another pair than the one at `begin`.
std::size_t end_of_pair(const std::vector<Transition> &transitions, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < transitions.size() && transitions[end].from == transitions[begin].from &&
         transitions[end].to == transitions[begin].to)
    end++;
  return end;
}

// "pay, cancel" for the transitions in [begin, end), which are of one pair; empty: no event.
std::string events(const std::vector<Transition> &transitions, std::size_t begin, std::size_t end) {
  std::string text;
  for (std::size_t i = begin; i < end; i++) {
    if (i > begin) text += ", ";
    text += transitions[i].event;
  }
  return text;
}

// The order in which states are first named is part of a definition. So before a line names a state
// that is not the next one, those before it are declared.
class MermaidDrawing {
 public:
  MermaidDrawing(const Definition &definition, const Counts &counts)
      : definition_(definition), counts_(counts) {}

  std::string draw();

 private:
  const std::string &name(std::size_t state) const { return definition_.states[state].name; }
  void line(const std::string &text) { text_ += "    " + text + "\n"; }
  bool needs_line(std::size_t state) const;
  bool introduces(std::size_t from, std::size_t to, std::size_t next) const;
  void declare(std::size_t state);
  void declare_before(std::size_t from, std::size_t to);

  const Definition &definition_;
  const Counts &counts_;
  std::string text_ = "stateDiagram-v2\n";
  std::size_t named_ = 0;  // states that the lines so far name
};

// Whether a transition does not say everything about the state.
bool MermaidDrawing::needs_line(std::size_t state) const {
  return definition_.states[state].initial || !label(definition_, counts_, state).empty();
}

// Whether a line that names the one state and then the other, with the first `next` states declared
// before it, leaves none out.
bool MermaidDrawing::introduces(std::size_t from, std::size_t to, std::size_t next) const {
  for (const std::size_t state : {from, to}) {
    if (state < next) continue;
    if (state > next || needs_line(state)) return false;
    next++;
  }
  return true;
}

void MermaidDrawing::declare(std::size_t state) {
  const std::string text = label(definition_, counts_, state);
  if (!text.empty()) line("state \"" + escape(text) + "\" as " + name(state));
  if (definition_.states[state].initial)
    line("[*] --> " + name(state));
  else if (text.empty())
    line(name(state));
}

void MermaidDrawing::declare_before(std::size_t from, std::size_t to) {
  while (!introduces(from, to, named_)) declare(named_++);
  for (const std::size_t state : {from, to})
    if (state == named_) named_++;
}

std::string MermaidDrawing::draw() {
  const std::vector<Transition> &transitions = definition_.transitions;
  for (std::size_t i = 0; i < transitions.size();) {
    const auto &[from, to, event] = transitions[i];
    const std::size_t end = end_of_pair(transitions, i);
    declare_before(from, to);
    const std::string label = events(transitions, i, end);
    line(name(from) + " --> " + name(to) + (label.empty() ? "" : " : " + label));
    i = end;
  }
  for (std::size_t i = 0; i < definition_.states.size(); i++) {
    if (!definition_.states[i].final) continue;
    declare_before(i, i);
    line(name(i) + " --> [*]");
  }
  return text_;
}

// Graphviz takes "\" and "&" in labels for the beginning of an escape.
std::string dot_label(const std::string &text) {
  std::string result = "\"";
  for (const char byte : text) {
    if (byte == '"' || byte == '\\') result += '\\';
    result += byte;
    if (byte == '&') result += "amp;";
  }
  return result + "\"";
}

}  // namespace

std::string draw_mermaid(const Definition &definition, const Counts &counts) {
  return MermaidDrawing(definition, counts).draw();
}

std::string draw_dot(const Definition &definition, const std::string &name, const Counts &counts) {
  std::string text = "digraph " + dot_label(name) + " {\n    node [shape=box, style=rounded];\n";
  text += "    \"[*]\" [shape=point, width=0.2];\n";
  for (std::size_t i = 0; i < definition.states.size(); i++) {
    const State &state = definition.states[i];
    const std::string shown = label(definition, counts, i);
    text += "    \"" + state.name + "\" [label=" + dot_label(shown.empty() ? state.name : shown) +
            (state.final ? ", peripheries=2" : "") + "];\n";
  }
  for (const State &state : definition.states)
    if (state.initial) text += "    \"[*]\" -> \"" + state.name + "\";\n";
  const std::vector<Transition> &transitions = definition.transitions;
  for (std::size_t i = 0; i < transitions.size();) {
    const std::size_t end = end_of_pair(transitions, i);
    const std::string label = events(transitions, i, end);
    text += "    \"" + definition.states[transitions[i].from].name + "\" -> \"" +
            definition.states[transitions[i].to].name + "\"" +
            (label.empty() ? "" : " [label=" + dot_label(label) + "]") + ";\n";
    i = end;
  }
  return text + "}\n";
}

}  // namespace idem::machines
