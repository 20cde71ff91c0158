#include "versions/decision.hpp"

#include <cstring>
#include <initializer_list>

namespace idem::versions {

const char *name_of(Mode mode) {
  switch (mode) {
    case Mode::expect:
      return "expect";
    case Mode::client:
      return "client";
    default:
      return "where";
  }
}

bool read_mode(const char *name, Mode *mode) {
  for (const Mode one : {Mode::where, Mode::expect, Mode::client}) {
    if (std::strcmp(name, name_of(one)) != 0) continue;
    *mode = one;
    return true;
  }
  return false;
}

}  // namespace idem::versions
