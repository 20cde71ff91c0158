#include "tool/commands.hpp"
#include "tool/exit_codes.hpp"
#include "tool/failure.hpp"

namespace idem::tool {

int run_lock(const LockOptions & /*options*/) {
  throw Failure(kInternal, "not written yet");
}

}  // namespace idem::tool
