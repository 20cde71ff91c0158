#include "locks/taking.hpp"

#include "server/prelude.hpp"
#include "server/statement.hpp"

namespace idem::locks {

namespace {

struct Attempt {
  const LockName *name;
  Kind kind;
  bool dont_wait;
  Taken taken;
};

// A failed subtransaction forgets the name, so that each attempt begins with it.
bool attempt_to_take(void *argument) {
  auto *attempt = static_cast<Attempt *>(argument);
  KnownName *known = know(*attempt->name);
  const LOCKTAG tag = tag_of(*known);
  const bool is_new = !holds_any(tag);
  attempt->taken = {acquire(tag, attempt->kind, attempt->dont_wait), known, is_new};
  return true;
}

}  // namespace

Taken take(const LockName &name, Kind kind, const Patience &patience) {
  Attempt attempt = {&name, kind, patience.bounded, {}};
  (void)attempt_to_take(&attempt);
  if (attempt.taken.times > 0) return attempt.taken;
  attempt.dont_wait = false;
  if (!server::run_until(patience.deadline, true, attempt_to_take, &attempt)) {
    forget_unless_held(name);
    return {};
  }
  return attempt.taken;
}

}  // namespace idem::locks
