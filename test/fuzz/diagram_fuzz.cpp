// Whatever the text is, it is read or refused with an error that can be shown; and what was read
// can be drawn, read back, written as arrays, compiled and judged.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "../unit/definition_text.hpp"
#include "machines/definition.hpp"
#include "machines/drawing.hpp"
#include "machines/machine.hpp"
#include "server/error.hpp"

namespace {

using namespace idem::machines;

void require(bool holds, const char *what, const std::string &shown = {}) {
  if (holds) return;
  std::fprintf(stderr, "%s\n%s\n", what, shown.c_str());
  std::abort();
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i++]);
    if (lead < 0x80) continue;
    if (lead < 0xC2 || lead > 0xF4) return false;
    for (int more = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3; more > 0; more--)
      if (i == text.size() || (static_cast<unsigned char>(text[i++]) & 0xC0U) != 0x80) return false;
  }
  return true;
}

// The parts of an error go to a terminal and through conversions between encodings.
void check_error(const idem::Error &error, bool utf8) {
  require(std::string_view(error.code()) == "ID400", "another code", error.code());
  require(*error.hint() != '\0', "no hint", error.what());
  for (const std::string_view part : {error.what(), error.detail(), error.hint()}) {
    require(part.size() < 600, "a long text", std::string(part));
    require(!utf8 || is_utf8(part), "a broken character", std::string(part));
    for (const char byte : part)
      require((byte < 0 || byte >= ' ') && byte != '\x7f', "a control character", error.what());
  }
}

Definition read_again(const std::string &drawing) {
  try {
    return read_diagram(drawing);
  } catch (const idem::Error &error) {
    require(false, error.detail(), drawing);
    throw;
  }
}

void check_drawings(const Definition &definition, bool utf8) {
  const Counts counts(definition.states.size(), 7);
  const std::string drawing = draw_mermaid(definition, {});
  const std::string counted = draw_mermaid(definition, counts);
  if (counted.size() <= kMaxDiagramBytes) {
    require(text_of(read_again(drawing)) == text_of(definition), "another machine", drawing);
    require(read_again(counted).transitions.size() == definition.transitions.size(),
            "other transitions", counted);
  }
  const std::string dot = draw_dot(definition, "a \"machine\"", counts);
  require(!utf8 || (is_utf8(drawing) && is_utf8(dot)), "a broken character", drawing);
}

// What a diagram may say, arrays may say.
void check_arrays(const Definition &definition) {
  std::vector<std::string_view> initial;
  std::vector<Edge> edges;
  for (const State &state : definition.states)
    if (state.initial) initial.push_back(state.name);
  for (const auto &[from, to, event] : definition.transitions)
    edges.push_back({definition.states[from].name, definition.states[to].name, event});
  try {
    const Definition same = read_edges(initial, edges);
    require(same.transitions.size() == edges.size(), "other transitions");
    for (std::size_t i = 0; i < edges.size(); i++) {
      const Transition &transition = same.transitions[i];
      require(same.states[transition.from].name == edges[i].from &&
                  same.states[transition.to].name == edges[i].to &&
                  transition.event == edges[i].event,
              "another transition");
    }
  } catch (const idem::Error &error) {
    require(std::string_view(error.what()) == "machine is too large", error.what(), error.detail());
  }
}

void check_judgements(const Definition &definition) {
  void *block = ::operator new(compiled_size(definition));
  const Machine &machine = *compile(definition, block);
  for (StateIndex i = 0; i < machine.states; i++) {
    const State &state = definition.states[static_cast<std::size_t>(i)];
    require(find_state(machine, state.name) == i, "the state is not found", state.name);
    require((judge_birth(machine, i) == Verdict::allowed) == state.initial, "another birth");
    require(judge_change(machine, i, i) == Verdict::same, "the same value was refused");
  }
  for (const auto &[source, target, event] : definition.transitions) {
    const auto from = static_cast<StateIndex>(source);
    const auto to = static_cast<StateIndex>(target);
    const Verdict verdict = judge_change(machine, from, to);
    require(verdict == (from == to ? Verdict::same : Verdict::allowed), "a transition was refused");
    if (event.empty()) continue;
    const Response response = respond(machine, from, event);
    const Reaction due = from == to ? Reaction::none : Reaction::apply;
    require(response.reaction == due && response.to == to, "an event leads elsewhere", event);
  }
  ::operator delete(block);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  const bool utf8 = is_utf8(text);
  try {
    const Definition definition = read_diagram(text);
    check_drawings(definition, utf8);
    check_arrays(definition);
    check_judgements(definition);
  } catch (const idem::Error &error) {
    check_error(error, utf8);
  }
  return 0;
}
