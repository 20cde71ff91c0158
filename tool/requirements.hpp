// What the tool needs that the extension does not; the Makefile asks before it builds the tool.

#if !__has_include(<CLI/CLI.hpp>) || !__has_include(<nlohmann/json.hpp>) || !__has_include(<libpq-fe.h>)
#error "the headers of CLI11, nlohmann-json or libpq are missing"
#endif
