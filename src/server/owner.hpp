// Running code that a table brings along (triggers, constraints, expressions of indexes) with the
// rights of the table's owner and nothing more.

#pragma once

#include "server/prelude.hpp"

namespace idem::server {

// The owner of a relation, or InvalidOid when it is gone.
Oid owner_of(Oid relation);

// Runs call(argument) as the role, in a security-restricted operation with a safe search_path. What
// it sets is undone. An ERROR passes through and leaves the undoing to the end of the transaction.
void run_as_owner(Oid owner, void (*call)(void *), void *argument);

template <typename Call>
void as_owner(Oid owner, Call call) {
  run_as_owner(
      owner, [](void *argument) { (*static_cast<Call *>(argument))(); }, &call);
}

}  // namespace idem::server
