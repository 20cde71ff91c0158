// Drawing a machine back. Pure.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machines/definition.hpp"

namespace idem::machines {

// Rows in each state, in the order of Definition::states; empty: not counted.
using Counts = std::vector<std::int64_t>;

// A Mermaid stateDiagram-v2 that read_diagram reads as the same definition (with counts: except for
// the descriptions, which then end in the count, as in "Waiting for payment (12)"). Events of the
// same pair share a line. The drawing of a diagram near kMaxDiagramBytes may be larger than that.
std::string draw_mermaid(const Definition &definition, const Counts &counts);

// The same as a Graphviz digraph.
std::string draw_dot(const Definition &definition, const std::string &name, const Counts &counts);

}  // namespace idem::machines
