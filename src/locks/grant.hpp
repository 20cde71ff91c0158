// What the functions that take a lock answer.

#pragma once

#include "server/prelude.hpp"

namespace idem::locks {

// Columns of idem_lock_grant in their order.
struct Grant {
  bool acquired;
  NullableDatum token = {0, true};
  NullableDatum expires_at = {0, true};
  NullableDatum holder = {0, true};
  NullableDatum data = {0, true};
  NullableDatum after_loss = {0, true};
  NullableDatum depth = {0, true};
  NullableDatum retry_after = {0, true};
};

// The grant as a value of the type that the function being called returns.
Datum grant_datum(FunctionCallInfo fcinfo, const Grant &grant);

}  // namespace idem::locks
