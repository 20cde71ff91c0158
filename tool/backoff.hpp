// How long to wait before an attempt is repeated.

#pragma once

#include "tool/values.hpp"

namespace idem::tool {

// The wait before the repetition `number`, counted from 0: the first wait, doubled each time, up to
// the longest; of that, at least a half, and the more the nearer `random` is to 1, so that callers
// who failed together do not come back together. `random` is from 0 to 1.
Duration backoff_wait(const Backoff &backoff, long number, double random);

}  // namespace idem::tool
