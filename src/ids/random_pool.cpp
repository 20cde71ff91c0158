#include "ids/random_pool.hpp"

#include "server/prelude.hpp"

namespace idem::ids {

namespace {

constexpr int kPoolBytes = 1024;

struct Pool {
  unsigned char bytes[kPoolBytes];
  int left;  // bytes at the start that were not given yet
};

// Empty where the server forks sessions, so none of them shares its contents with another.
Pool pool = {{}, 0};

}  // namespace

std::uint64_t random_bits() {
  std::uint64_t bits;
  if (pool.left == 0) {
    if (!pg_strong_random(pool.bytes, kPoolBytes)) elog(ERROR, "could not generate random values");
    pool.left = kPoolBytes;
  }
  pool.left -= static_cast<int>(sizeof(bits));
  memcpy(&bits, pool.bytes + pool.left, sizeof(bits));
  // What was given away is not for whoever reads this memory later.
  memset(pool.bytes + pool.left, 0, sizeof(bits));
  return bits;
}

}  // namespace idem::ids
