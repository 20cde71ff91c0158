// Puts a definition together, and refuses what no machine can honour, whichever form it was
// written in. Pure.

#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "machines/definition.hpp"

namespace idem::machines {

class Builder {
 public:
  // What an error says where the source stands; asked when there is an error.
  using Where = std::function<std::string()>;

  // `task` begins the message of every error, as in "cannot read the diagram".
  Builder(const char *task, Where where) : task_(task), where_(std::move(where)) {}

  // The index of the state, which is declared if it was not. The name is anything.
  std::size_t state(std::string_view name);
  void describe(std::size_t state, const std::string &text);

  void add_initial(std::size_t state);
  void add_final(std::size_t state);
  // The index of the pair, for add_event.
  std::size_t add_transition(std::size_t from, std::size_t to);
  void add_event(std::size_t pair, std::string_view event);

  // `birth_hint` says how the source marks a state as initial.
  Definition finish(const char *birth_hint);

  [[noreturn]] void refuse(const std::string &problem, const std::string &hint) const;

 private:
  struct Pair {
    std::size_t from;
    std::size_t to;
    std::vector<std::string> events;
  };

  struct Marks {
    bool ends = false;   // marked as final
    bool leads = false;  // has a way out
  };

  void count_transition();
  void check_spaces(std::string_view name) const;
  void check_state_name(std::string_view name) const;
  void check_event_name(std::string_view event) const;
  void check_end(std::size_t state) const;

  const char *task_;
  Where where_;
  std::vector<State> states_;
  std::vector<Marks> marks_;
  std::vector<Pair> pairs_;
  std::size_t transitions_ = 0;
  std::unordered_map<std::string_view, std::size_t> state_of_name_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> pair_of_states_;
  std::map<std::pair<std::size_t, std::string>, std::size_t> target_of_event_;
};

}  // namespace idem::machines
