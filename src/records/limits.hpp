// Sizes that a caller can run into, in bytes.

#pragma once

#include <cstddef>

namespace idem::records {

// The longest key limit met in public APIs is 255 characters of up to 4 bytes; with the longest
// scope it still fits a B-tree entry (about 2,700 bytes).
inline constexpr std::size_t kMaxKeyBytes = 512;
inline constexpr std::size_t kMaxScopeBytes = 128;
inline constexpr std::size_t kMaxOwnerBytes = 256;
inline constexpr std::size_t kMaxCheckpointNameBytes = 128;
inline constexpr std::size_t kMaxFingerprintBytes = 128;

}  // namespace idem::records
