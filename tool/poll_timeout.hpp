#pragma once

#include <algorithm>

#include "tool/clock.hpp"

namespace idem::tool {

// Milliseconds for poll, rounded up so that a wait does not end just before its time. Not longer
// than a second, because poll's clock stands still while the machine is suspended.
inline int poll_timeout(TimePoint deadline) {
  const Duration left = deadline - Clock::now() + std::chrono::microseconds(999);
  const Duration wait = std::clamp<Duration>(left, Duration(0), std::chrono::seconds(1));
  return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(wait).count());
}

}  // namespace idem::tool
