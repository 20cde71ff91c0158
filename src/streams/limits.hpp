// Sizes that a caller can run into, in bytes unless it says otherwise.

#pragma once

#include <cstddef>
#include <cstdint>

namespace idem::streams {

inline constexpr std::size_t kMaxStreamBytes = 128;
inline constexpr std::size_t kMaxProducerBytes = 256;
inline constexpr std::size_t kMaxHashBytes = 128;
// What is remembered of a batch is written again with each batch that comes after.
inline constexpr std::size_t kMaxResultBytes = 8192;
inline constexpr std::int32_t kMostRemembered = 1000;  // batches

}  // namespace idem::streams
