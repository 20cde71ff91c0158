// How figures of the server look in tables for people.

#pragma once

#include <string>

#include "tool/report.hpp"

namespace idem::tool {

// A member of an object as text: "" for what is missing or null.
std::string text_of(const Json &object, const char *name);
// A number of seconds in words.
std::string seconds_of(const Json &object, const char *name);
// A time to the second.
std::string time_of(const Json &object, const char *name);

}  // namespace idem::tool
