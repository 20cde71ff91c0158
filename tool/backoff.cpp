#include "tool/backoff.hpp"

#include <algorithm>
#include <cmath>

namespace idem::tool {

Duration backoff_wait(const Backoff &backoff, long number, double random) {
  // More doublings than this reach the longest wait from any first one but zero.
  const int doublings = static_cast<int>(std::min(number, 60L));
  const double grown = std::ldexp(static_cast<double>(backoff.first.count()), doublings);
  const double wait = std::min(grown, static_cast<double>(backoff.longest.count()));
  return Duration(static_cast<Duration::rep>(wait * (0.5 + 0.5 * random)));
}

}  // namespace idem::tool
