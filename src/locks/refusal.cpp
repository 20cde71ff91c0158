#include "locks/refusal.hpp"

#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace idem::locks {

using records::TokenStep;

namespace {

int lost() {
  return server::errcode_of(sqlstate::kStaleToken);
}

[[noreturn]] void refuse_unknown(const char *name) {
  ereport(ERROR, (errcode(lost()), errmsg("this session knows of no lock \"%s\" of its own", name),
                  errhint("Pass the token that idem_lock returned, as argument token.")));
  pg_unreachable();
}

}  // namespace

void refuse_holder(TokenStep step, const text *name) {
  const char *shown = text_to_cstring(name);
  switch (step) {
    case TokenStep::unknown:
      refuse_unknown(shown);
    case TokenStep::no_such_claim:
      ereport(ERROR, (errcode(lost()), errmsg("nobody holds lock \"%s\"", shown),
                      errdetail("It was never taken, or taken in a transaction that was rolled "
                                "back, or lost long ago."),
                      errhint("Take it with idem_lock, and commit, before relying on it.")));
      break;
    case TokenStep::given_back:
    case TokenStep::settled:
      ereport(ERROR, (errcode(lost()), errmsg("lock \"%s\" was given back", shown),
                      errhint("Take it again with idem_lock before relying on it.")));
      break;
    case TokenStep::lease_over:
      ereport(ERROR,
              (errcode(lost()), errmsg("the lease of lock \"%s\" is over", shown),
               errdetail("Another session may take the lock at any moment."),
               errhint("Stop the work that it protects. Extend it earlier, such as every third of "
                       "its ttl, or ask for a longer ttl.")));
      break;
    default:
      ereport(ERROR, (errcode(lost()), errmsg("lock \"%s\" is no longer yours", shown),
                      errdetail("The token is not that of its present holder: the lease ran out "
                                "and another session took it, or it was given back."),
                      errhint("Stop the work that it protects; others may be at it.")));
  }
  pg_unreachable();
}

void refuse_fenced(TokenStep step, const text *name) {
  const char *shown = text_to_cstring(name);
  if (step == TokenStep::unknown) refuse_unknown(shown);
  ereport(ERROR,
          (errcode(server::errcode_of(sqlstate::kFenced)),
           errmsg("the token is not that of the present holder of lock \"%s\"", shown),
           step == TokenStep::no_such_claim || step == TokenStep::given_back
               ? errdetail("Nobody holds the lock.")
               : errdetail("The lease ran out and another session took the lock, or it was given "
                           "back."),
           errhint("Roll back: what this transaction wrote was not protected by the lock.")));
  pg_unreachable();
}

}  // namespace idem::locks
