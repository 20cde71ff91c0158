// The escapes of Mermaid in descriptions: "#quot;" and "#34;" for a quote. Pure.

#pragma once

#include <string>
#include <string_view>

namespace idem::machines {

// An escape for what is not printable ASCII stays as it is, since the encoding of the text is not
// known here.
std::string unescape(std::string_view text);

// A text that can stand between quotes and that unescape turns into the same.
std::string escape(std::string_view text);

}  // namespace idem::machines
