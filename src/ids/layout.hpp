// How a snowflake id is laid out, and which one comes next. Pure and inline, because it is computed
// while others wait for the sequence.
//
//   bit 63   62 ... 22             21 ... 12   11 ... 0
//   0        ms since the epoch    node        counter

#pragma once

#include <cstdint>
#include <optional>

namespace idem::ids {

using Id = std::int64_t;
using Millis = std::int64_t;

inline constexpr int kCounterBits = 12;
inline constexpr int kNodeBits = 10;
inline constexpr int kTimeBits = 41;
inline constexpr int kTimeShift = kCounterBits + kNodeBits;

inline constexpr int kLastCounter = (1 << kCounterBits) - 1;
inline constexpr int kLastNode = (1 << kNodeBits) - 1;
inline constexpr Millis kLastMillis = (Millis{1} << kTimeBits) - 1;
inline constexpr Id kBelowTime = (Id{1} << kTimeShift) - 1;

struct Parts {
  Millis time;  // since the epoch
  int node;
  int counter;
};

constexpr Id pack(const Parts &parts) {
  return parts.time << kTimeShift | Id{parts.node} << kCounterBits | Id{parts.counter};
}

constexpr Parts unpack(Id id) {
  return {id >> kTimeShift, static_cast<int>(id >> kCounterBits & kLastNode),
          static_cast<int>(id & kLastCounter)};
}

// The first id of a node that is greater than `last` and not of a time before `now`; nothing when
// that needs more bits of time than there are. Ids of one sequence only grow, whatever the clock
// and the number of the node do, hence none repeats.
constexpr std::optional<Id> next_id(Id last, Millis now, int node) {
  const Parts given = unpack(last < 0 ? 0 : last);
  Parts next = {given.time, node, 0};
  if (now > given.time)
    next.time = now;
  else if (node == given.node && given.counter < kLastCounter)
    next.counter = given.counter + 1;
  else if (node <= given.node)
    next.time++;
  if (next.time > kLastMillis) return std::nullopt;
  return pack(next);
}

// The id that comes `steps` after this one when nothing else happens; nothing as above.
constexpr std::optional<Id> later_id(Id id, std::int64_t steps) {
  Parts parts = unpack(id);
  const std::int64_t counter = parts.counter + steps;
  parts.time += counter >> kCounterBits;
  parts.counter = static_cast<int>(counter & kLastCounter);
  if (parts.time > kLastMillis) return std::nullopt;
  return pack(parts);
}

// The greatest id, of any node, that is at most `ahead` later than this one.
constexpr Id bound_after(Id id, Millis ahead) {
  const Millis time = unpack(id).time + ahead;
  return (time < kLastMillis ? time : kLastMillis) << kTimeShift | kBelowTime;
}

// The least id of a time, for ranges; the ends of what ids can hold for times outside.
constexpr Id floor_of(Millis time) {
  if (time < 0) return 0;
  return time > kLastMillis ? INT64_MAX : time << kTimeShift;
}

}  // namespace idem::ids
