// What an update may write to the version of a row.

#pragma once

#include <cstdint>

namespace idem::versions {

// Who raises the version, and so what an update carries in it.
enum class Mode {
  where,   // the client or nobody: the version of the row, or the next one
  expect,  // the trigger: the version that the client has read
  client   // the client: the next version
};

// False for the name of no mode.
const char *name_of(Mode mode);
bool read_mode(const char *name, Mode *mode);

enum class Verdict { passes, stale, exhausted };

// `stored` is the version of the row, `written` what the update carries, `last` the highest version
// that the column can hold. Who passes stores `stored` + 1.
inline Verdict judge(Mode mode, std::int64_t stored, std::int64_t written, std::int64_t last) {
  if (stored == last) {
    // There is no next one that a client could write.
    const bool known = mode == Mode::client || written == stored;
    return known ? Verdict::exhausted : Verdict::stale;
  }
  const bool same = written == stored;
  const bool next = written == stored + 1;
  const bool passes = mode == Mode::where ? same || next : mode == Mode::expect ? same : next;
  return passes ? Verdict::passes : Verdict::stale;
}

}  // namespace idem::versions
