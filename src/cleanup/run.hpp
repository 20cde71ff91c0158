// Expiring rows in the caller's transaction: what idem_expire_run and idem_purge do.

#pragma once

#include <cstdint>

#include "cleanup/premises.hpp"
#include "cleanup/rules.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

struct Run {
  std::int64_t rows;
  bool more;  // expired rows are left that nobody had locked when they were looked at
};

// Expires up to `limit` rows of one relation, passing over locked ones.
Run run_leaf(const Premises &premises, const Rule &rule, Oid relation, std::int64_t limit);

// The same for an attached table and all its leaves. Waits for locks on them, then holds the
// attachment, in that order, until the transaction ends; nothing goes when somebody is about to
// change it.
Run run_table(const Premises &premises, const Rule &rule, std::int64_t limit);

}  // namespace idem::cleanup
