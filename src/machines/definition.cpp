#include "machines/definition.hpp"

#include "machines/builder.hpp"
#include "machines/drawing.hpp"
#include "machines/names.hpp"
#include "server/error.hpp"

namespace idem::machines {

namespace {

std::string written(const Edge &edge) {
  std::string text = std::string(edge.from) + " --> " + std::string(edge.to);
  if (!edge.event.empty()) text += " : " + std::string(edge.event);
  return quoted(text);
}

// A machine from arrays must not be one that no diagram could hold.
void check_size(const Definition &definition) {
  const std::size_t size = draw_mermaid(definition, {}).size();
  if (size <= kMaxDiagramBytes) return;
  throw Error(sqlstate::kBadArgument, "machine is too large",
              "Its diagram has " + std::to_string(size) + " bytes; the limit is " +
                  std::to_string(kMaxDiagramBytes) + ".",
              "Use shorter names, or fewer transitions.");
}

}  // namespace

Definition read_edges(const std::vector<std::string_view> &initial,
                      const std::vector<Edge> &edges) {
  std::string place;
  Builder builder("cannot read the machine", [&place] { return place; });
  for (std::size_t i = 0; i < initial.size(); i++) {
    place = "Initial state " + std::to_string(i + 1) + ": " + quoted(initial[i]) + ".";
    builder.add_initial(builder.state(initial[i]));
  }
  for (std::size_t i = 0; i < edges.size(); i++) {
    place = "Transition " + std::to_string(i + 1) + ": " + written(edges[i]) + ".";
    const std::size_t from = builder.state(edges[i].from);
    const std::size_t pair = builder.add_transition(from, builder.state(edges[i].to));
    if (!edges[i].event.empty()) builder.add_event(pair, edges[i].event);
  }
  place.clear();
  Definition definition = builder.finish("Name the states in which a row may be born.");
  check_size(definition);
  return definition;
}

}  // namespace idem::machines
