// Where and when pgidem runs, as templates and owners name it.

#pragma once

#include <string>

#include "tool/templates.hpp"

namespace idem::tool {

std::string host_name();
std::string user_name();

// Taken once: a name must not change at midnight, between the claim and its end.
Surroundings surroundings_now(bool utc);

// The text expanded. Throws Failure (kUsage), naming the option.
std::string expand_option(const std::string &text, const char *option,
                          const Surroundings &surroundings);

// "user@host:pid/random". The last part tells this run from another with the same process number,
// as those of containers are.
std::string make_owner();

}  // namespace idem::tool
