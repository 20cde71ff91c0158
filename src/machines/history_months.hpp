// The history of state machines, by the month in which a transition was made.

#pragma once

#include "server/months.hpp"

namespace idem::machines {

// The history of a row is asked for by its key, and seldom by anything else.
inline constexpr server::MonthlyTable kHistory = {"idem_history", "at", "(key_hash)"};

}  // namespace idem::machines
