// A lock's name as hash tables and shared memory hold it.

#pragma once

#include <cstdint>
#include <type_traits>

#include "server/arguments.hpp"
#include "server/prelude.hpp"

namespace idem::locks {

// The limit of keys, because the name of a durable lock is one.
inline constexpr std::size_t kMaxNameBytes = 512;

// Unused bytes are zero, so that equal names are equal byte by byte.
struct LockName {
  Oid database;
  std::uint32_t length;
  char bytes[kMaxNameBytes];
};
static_assert(std::is_trivially_copyable_v<LockName>);
static_assert(sizeof(LockName) == sizeof(Oid) + sizeof(std::uint32_t) + kMaxNameBytes);

inline LockName lock_name(const text *name) {
  const std::string_view view = server::view_of(name);
  LockName result = {};
  result.database = MyDatabaseId;
  result.length = static_cast<std::uint32_t>(view.size());
  memcpy(result.bytes, view.data(), view.size());
  return result;
}

// In the current memory context.
inline text *text_of(const LockName &name) {
  return cstring_to_text_with_len(name.bytes, static_cast<int>(name.length));
}
inline char *cstring_of(const LockName &name) {
  return pnstrdup(name.bytes, name.length);
}

}  // namespace idem::locks
