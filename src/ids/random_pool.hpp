// Random bits that nobody can foretell, fetched many at a time.

#pragma once

#include <cstdint>

namespace idem::ids {

std::uint64_t random_bits();

}  // namespace idem::ids
