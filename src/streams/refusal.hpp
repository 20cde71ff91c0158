// Errors of streams: what a producer is told when its batch is refused.

#pragma once

#include "server/prelude.hpp"
#include "streams/decision.hpp"
#include "streams/producer.hpp"

namespace idem::streams {

[[noreturn]] void refuse_unknown(const text *stream, std::int64_t id);

// A step that neither accepts nor tells of a duplicate, for numbers from `first` to `last`.
// `first_new` is that of the verdict.
[[noreturn]] void refuse(Step step, const Producer &producer, const Policy &policy,
                         const Request &request, std::int64_t first_new);

// A transaction-wide snapshot does not show what the producer is now.
[[noreturn]] void refuse_changed();

[[noreturn]] void refuse_reuse(const Producer &producer, const Request &request);

// A number whose result cannot be kept because it was not accepted.
[[noreturn]] void refuse_not_accepted(const Producer &producer, std::int64_t number);

[[noreturn]] void refuse_other_result(const Producer &producer, std::int64_t number);

}  // namespace idem::streams
