#include "ids/uuid_bits.hpp"

namespace idem::ids {

namespace {

constexpr Nanos kNanosPerMilli = 1000000;
constexpr Micros kMicrosPerMilli = 1000;
constexpr int kBelowMillisBits = 12;

// Versions 1 and 6 count 100 ns since the Gregorian calendar began.
constexpr std::int64_t kTicksPerMicro = 10;
constexpr std::int64_t kGregorianTicks = 0x01B21DD213814000;

void put(UuidBytes &uuid, int from, int bytes, std::uint64_t value) {
  for (int i = bytes - 1; i >= 0; i--) {
    uuid[from + i] = static_cast<std::uint8_t>(value);
    value >>= 8;
  }
}

std::uint64_t get(const UuidBytes &uuid, int from, int bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < bytes; i++) value = value << 8 | uuid[from + i];
  return value;
}

Micros micros_of_ticks(std::uint64_t ticks) {
  const std::int64_t since_1970 = static_cast<std::int64_t>(ticks) - kGregorianTicks;
  // Towards the past on both sides of 1970.
  const std::int64_t remainder = since_1970 % kTicksPerMicro;
  return since_1970 / kTicksPerMicro - (remainder < 0 ? 1 : 0);
}

std::uint64_t ticks_of_version_1(const UuidBytes &uuid) {
  return (get(uuid, 6, 2) & 0x0FFF) << 48 | get(uuid, 4, 2) << 32 | get(uuid, 0, 4);
}

std::uint64_t ticks_of_version_6(const UuidBytes &uuid) {
  return get(uuid, 0, 6) << 12 | (get(uuid, 6, 2) & 0x0FFF);
}

}  // namespace

UuidBytes make_uuid7(Millis time, Nanos below_millis, std::uint64_t random) {
  UuidBytes uuid;
  put(uuid, 0, 6, static_cast<std::uint64_t>(time));
  const auto fraction =
      static_cast<std::uint64_t>((below_millis << kBelowMillisBits) / kNanosPerMilli);
  put(uuid, 6, 2, 0x7000 | fraction);
  put(uuid, 8, 8, (random & 0x3FFFFFFFFFFFFFFF) | 0x8000000000000000);
  return uuid;
}

UuidBytes uuid7_floor(Millis time) {
  return make_uuid7(time, 0, 0);
}

std::optional<Micros> time_of(const UuidBytes &uuid) {
  if ((uuid[8] & 0xC0) != 0x80) return std::nullopt;
  switch (uuid[6] >> 4) {
    case 1:
      return micros_of_ticks(ticks_of_version_1(uuid));
    case 6:
      return micros_of_ticks(ticks_of_version_6(uuid));
    case 7:
      return static_cast<Micros>(get(uuid, 0, 6)) * kMicrosPerMilli;
    default:
      return std::nullopt;
  }
}

}  // namespace idem::ids
