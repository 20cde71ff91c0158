// Definitions as text, for comparing and for showing a difference.

#pragma once

#include <string>

#include "machines/definition.hpp"

namespace idem::machines {

// "*pending(Waiting) paid! | pending>paid:pay", with '*' before initial and '!' after final states.
inline std::string text_of(const Definition &definition) {
  std::string text;
  for (const State &state : definition.states) {
    if (!text.empty()) text += ' ';
    text += (state.initial ? "*" : "") + state.name;
    if (!state.description.empty()) text += "(" + state.description + ")";
    if (state.final) text += '!';
  }
  text += " |";
  for (const Transition &transition : definition.transitions) {
    text += " " + definition.states.at(transition.from).name + ">" +
            definition.states.at(transition.to).name;
    if (!transition.event.empty()) text += ":" + transition.event;
  }
  return text;
}

}  // namespace idem::machines
