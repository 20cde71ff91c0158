#include "tool/lease.hpp"

#include <algorithm>

namespace idem::tool {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Duration margin(const Lease &lease) {
  return std::clamp<Duration>(lease.remaining / 20, milliseconds(100), seconds(2));
}

}  // namespace

TimePoint renew_at(const Lease &lease) {
  return lease.end() == kNever ? kNever : lease.asked + lease.remaining / 3;
}

Duration retry_pause(const Lease &lease) {
  return std::clamp<Duration>(lease.remaining / 20, milliseconds(50), seconds(1));
}

Deadline deadline_of(const Lease &lease, Duration kill_after) {
  if (lease.end() == kNever) return {};
  const TimePoint kill = lease.end() - margin(lease);
  return {kill - std::min(kill_after, lease.remaining / 4), kill};
}

}  // namespace idem::tool
