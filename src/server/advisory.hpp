// Locks of the extension's own among the server's advisory locks. Each use has a class of its own;
// SQL uses 1 and 2.

#pragma once

#include <cstdint>

#include "server/prelude.hpp"

namespace idem::server {

inline LOCKTAG advisory_tag(std::uint64_t number, std::uint16_t lock_class) {
  LOCKTAG tag;
  SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, static_cast<uint32>(number >> 32),
                       static_cast<uint32>(number), lock_class);
  return tag;
}

// The 64 bits that advisory_tag was given.
inline std::uint64_t number_of(const LOCKTAG &tag) {
  return (static_cast<std::uint64_t>(tag.locktag_field2) << 32) | tag.locktag_field3;
}

}  // namespace idem::server
