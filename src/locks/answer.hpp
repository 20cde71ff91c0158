// What the functions that take a lock answer, as a value of type idem_lock_grant.

#pragma once

#include "server/prelude.hpp"

namespace idem::locks {

struct Answer {
  bool acquired;
  NullableDatum token;        // bigint
  NullableDatum expires_at;   // timestamptz
  NullableDatum holder;       // text
  NullableDatum data;         // jsonb
  NullableDatum after_loss;   // boolean
  NullableDatum depth;        // integer
  NullableDatum retry_after;  // interval
};

// An answer whose other columns are NULL.
Answer answer_of(bool acquired);

// The value, for a function that is declared to return idem_lock_grant.
Datum answer_datum(FunctionCallInfo fcinfo, const Answer &answer);

}  // namespace idem::locks
