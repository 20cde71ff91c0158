// The clock by which pgidem knows how long its lease still holds.

#pragma once

#include <chrono>
#include <ctime>

namespace idem::tool {

// Goes on while the machine is suspended, because the server's clock does: a lease does not stop
// for a closed lid. Nobody can set it.
struct Clock {
  using duration = std::chrono::microseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Clock>;
  static constexpr bool is_steady = true;

  static time_point now() noexcept {
#ifdef CLOCK_BOOTTIME
    constexpr clockid_t kClock = CLOCK_BOOTTIME;
#else
    constexpr clockid_t kClock = CLOCK_MONOTONIC;
#endif
    timespec time = {};
    clock_gettime(kClock, &time);
    return time_point(std::chrono::duration_cast<duration>(std::chrono::seconds(time.tv_sec) +
                                                           std::chrono::nanoseconds(time.tv_nsec)));
  }
};

using Duration = Clock::duration;
using TimePoint = Clock::time_point;

// Leaves room to add durations to it.
inline constexpr TimePoint kNever = TimePoint(Duration::max() / 2);

// A wait without an end.
inline constexpr Duration kForever = Duration::max();

}  // namespace idem::tool
