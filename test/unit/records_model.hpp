// Every state of a record that the decisions can tell apart, as labels with values behind them. The
// tests' own rules speak of the labels only, so that they share no comparison with the code under
// test.

#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "records/decision.hpp"

namespace idem::records::model {

inline constexpr Micros kNow = 800'000'000'000'000;
inline constexpr Micros kSoon = 3'000'000;

enum class Lease : std::uint8_t { live, last_moment, just_over, long_over, given_to_next, forever };
enum class Expiry : std::uint8_t { future, last_moment, just_passed, long_passed, forever };

inline constexpr std::array kStatuses = {Status::in_progress, Status::finished, Status::failed,
                                         Status::released};
inline constexpr std::array kLeases = {Lease::live,      Lease::last_moment,   Lease::just_over,
                                       Lease::long_over, Lease::given_to_next, Lease::forever};
inline constexpr std::array kExpiries = {Expiry::future, Expiry::last_moment, Expiry::just_passed,
                                         Expiry::long_passed, Expiry::forever};
inline constexpr std::array kBooleans = {false, true};

constexpr Micros value_of(Lease lease) {
  switch (lease) {
    case Lease::live:
      return kNow + kSoon;
    case Lease::last_moment:
      return kNow + 1;
    case Lease::just_over:
      return kNow;
    case Lease::long_over:
      return kNow - kSoon;
    case Lease::given_to_next:
      return kGivenToNext;
    case Lease::forever:
      break;
  }
  return kForever;
}

constexpr Micros value_of(Expiry expiry) {
  switch (expiry) {
    case Expiry::future:
      return kNow + kSoon;
    case Expiry::last_moment:
      return kNow + 1;
    case Expiry::just_passed:
      return kNow;
    case Expiry::long_passed:
      return kNow - kSoon;
    case Expiry::forever:
      break;
  }
  return kForever;
}

// A set of labels of one kind.
template <typename Label>
class Any {
 public:
  constexpr Any() : bits_(~0U) {}
  constexpr Any(std::initializer_list<Label> labels) : bits_(0) {
    for (const Label label : labels) bits_ |= 1U << static_cast<unsigned>(label);
  }
  constexpr bool holds(Label label) const {
    return (bits_ >> static_cast<unsigned>(label) & 1U) != 0;
  }

 private:
  unsigned bits_;
};

inline constexpr Any<Lease> kRunning = {Lease::live, Lease::last_moment, Lease::forever};
inline constexpr Any<Lease> kLapsed = {Lease::just_over, Lease::long_over, Lease::given_to_next};
// Over, and still its owner's as far as nobody else has taken it.
inline constexpr Any<Lease> kOverdue = {Lease::just_over, Lease::long_over};
inline constexpr Any<Expiry> kPassed = {Expiry::just_passed, Expiry::long_passed};
inline constexpr Any<Status> kSettled = {Status::finished, Status::failed};

struct State {
  Status status;
  Lease lease;
  Expiry expiry;
  bool written_here;
};

// Nobody may take a claim whose lease runs, and nobody can take one of a transaction that is still
// open.
constexpr bool is_claimed(const State &state) {
  return kRunning.holds(state.lease) || (state.written_here && kOverdue.holds(state.lease));
}

inline constexpr std::int64_t kToken = 42;

inline RecordState record_of(const State &state, std::int32_t attempt) {
  return {state.status,      kToken, attempt, value_of(state.lease), value_of(state.expiry),
          state.written_here};
}

template <typename Visit>
void for_every_state(Visit visit) {
  for (const Status status : kStatuses)
    for (const Lease lease : kLeases)
      for (const Expiry expiry : kExpiries)
        for (const bool written_here : kBooleans) visit(State{status, lease, expiry, written_here});
}

}  // namespace idem::records::model
