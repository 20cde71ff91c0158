// Values on their way to the server and back.

#pragma once

#include <optional>

#include "tool/clock.hpp"
#include "tool/session.hpp"

namespace idem::tool {

Value to_value(const std::optional<Duration> &duration);
// Seconds, with a fraction.
Duration to_duration(const Value &seconds);
double to_seconds(Duration duration);

}  // namespace idem::tool
