#include "machines/builder.hpp"

#include "machines/names.hpp"
#include "server/error.hpp"

namespace idem::machines {

void Builder::refuse(const std::string &problem, const std::string &hint) const {
  throw Error(sqlstate::kBadArgument, std::string(task_) + ": " + problem, where_(), hint);
}

void Builder::check_spaces(std::string_view name) const {
  if (has_hidden_space(name))
    refuse("there is a no-break space in a name", "Replace it with a space.");
}

void Builder::check_state_name(std::string_view name) const {
  if (name.empty()) refuse("a state's name is empty", kNameRule);
  if (name.size() > kMaxNameBytes) {
    refuse("the name of a state is longer than " + std::to_string(kMaxNameBytes) + " bytes",
           "Use a short name, and a description for people.");
  }
  if (is_reserved(name)) {
    refuse(quoted(name) + " cannot name a state",
           "State diagrams give the word a meaning of its own. Use another name.");
  }
  check_spaces(name);
  if (!is_state_name(name)) refuse(quoted(name) + " cannot name a state", kNameRule);
}

void Builder::check_event_name(std::string_view event) const {
  if (event.empty()) refuse("an event's name is empty", kEventRule);
  if (event.size() > kMaxNameBytes) {
    refuse("the name of an event is longer than " + std::to_string(kMaxNameBytes) + " bytes",
           kEventRule);
  }
  check_spaces(event);
  if (event_length(event) != event.size() || trimmed(event) != event)
    refuse(quoted(event) + " cannot name an event", kEventRule);
}

std::size_t Builder::state(std::string_view name) {
  const auto known = state_of_name_.find(name);
  if (known != state_of_name_.end()) return known->second;
  check_state_name(name);
  if (states_.size() == kMaxStates) {
    refuse("more than " + std::to_string(kMaxStates) + " states",
           "Keep what is not a step of the row's life in another column.");
  }
  State state;
  state.name = name;
  states_.push_back(std::move(state));
  marks_.emplace_back();
  // The source outlives the builder, so its own bytes are the key.
  state_of_name_.emplace(name, states_.size() - 1);
  return states_.size() - 1;
}

void Builder::describe(std::size_t state, const std::string &text) {
  std::string &description = states_[state].description;
  if (text.empty() || description == text) return;
  if (!description.empty()) description += ' ';
  description += text;
}

void Builder::check_end(std::size_t state) const {
  if (!marks_[state].ends || !marks_[state].leads) return;
  const std::string &name = states_[state].name;
  refuse("state \"" + name + "\" is final and has a way out",
         "Remove \"" + name + " --> [*]\", or the transitions that lead out of \"" + name + "\".");
}

void Builder::add_initial(std::size_t state) {
  states_[state].initial = true;
}

void Builder::add_final(std::size_t state) {
  marks_[state].ends = true;
  check_end(state);
}

std::size_t Builder::add_transition(std::size_t from, std::size_t to) {
  // A transition to the state itself leads nowhere else.
  if (from != to) marks_[from].leads = true;
  check_end(from);
  const auto [place, added] = pair_of_states_.try_emplace({from, to}, pairs_.size());
  if (added) {
    count_transition();
    pairs_.push_back({from, to, {}});
  }
  return place->second;
}

void Builder::add_event(std::size_t pair, std::string_view event) {
  check_event_name(event);
  auto &[from, to, events] = pairs_[pair];
  const auto [place, added] = target_of_event_.try_emplace({from, std::string(event)}, to);
  if (added) {
    if (!events.empty()) count_transition();
    events.emplace_back(event);
  } else if (place->second != to) {
    refuse("event \"" + std::string(event) + "\" leads from \"" + states_[from].name + "\" to \"" +
               states_[place->second].name + "\" and to \"" + states_[to].name + "\"",
           "Give the two transitions different events.");
  }
}

void Builder::count_transition() {
  if (++transitions_ <= kMaxTransitions) return;
  refuse("more than " + std::to_string(kMaxTransitions) + " transitions",
         "Declare only the transitions that the application makes.");
}

Definition Builder::finish(const char *birth_hint) {
  Definition definition;
  for (const Pair &pair : pairs_) {
    if (pair.events.empty()) definition.transitions.push_back({pair.from, pair.to, {}});
    for (const std::string &event : pair.events)
      definition.transitions.push_back({pair.from, pair.to, event});
  }
  bool born = false;
  for (std::size_t i = 0; i < states_.size(); i++) {
    states_[i].final = !marks_[i].leads;
    born = born || states_[i].initial;
  }
  if (!born) refuse("no state is initial", birth_hint);
  definition.states = std::move(states_);
  return definition;
}

}  // namespace idem::machines
