// What is said to somebody who presents a token that is not, or no more, that of a durable lock.

#pragma once

#include "records/decision.hpp"
#include "server/prelude.hpp"

namespace idem::locks {

// Raises ID410.
[[noreturn]] void refuse_holder(records::TokenStep step, const text *name);

// Raises ID021, or ID410 when no token is known at all.
[[noreturn]] void refuse_fenced(records::TokenStep step, const text *name);

}  // namespace idem::locks
