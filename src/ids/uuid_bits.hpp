// The bits of UUIDs that carry a time (RFC 9562).

#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "ids/layout.hpp"

namespace idem::ids {

using UuidBytes = std::array<std::uint8_t, 16>;
using Nanos = std::int64_t;
using Micros = std::int64_t;

// Since 1970; the time of a UUID of version 7 has 48 bits.
inline constexpr Millis kLastUuidMillis = (Millis{1} << 48) - 1;

// Version 7 keeps 12 bits of what is left below the millisecond, so this much makes a UUID greater.
inline constexpr Nanos kUuidStep = 245;

// Version 7 of a time since 1970 and of the lower 62 bits of `random`.
UuidBytes make_uuid7(Millis time, Nanos below_millis, std::uint64_t random);

// The least UUID of version 7 of the millisecond.
UuidBytes uuid7_floor(Millis time);

// When a UUID of version 1, 6 or 7 was made, since 1970; nothing for others, which carry no time.
std::optional<Micros> time_of(const UuidBytes &uuid);

}  // namespace idem::ids
