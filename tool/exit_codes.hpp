// Every exit status of pgidem's own. A command's status is passed on as it is, 128 + N for signal
// N.

#pragma once

namespace idem::tool {

// As flock(1) has it; --conflict-exit-code chooses another.
inline constexpr int kConflict = 1;
inline constexpr int kAlreadyDone = 3;
inline constexpr int kHeld = 4;

// sysexits.h, which not every system has.
inline constexpr int kUsage = 64;
inline constexpr int kMismatch = 65;
inline constexpr int kNotFound = 66;
inline constexpr int kUnavailable = 69;
inline constexpr int kInternal = 70;
inline constexpr int kSystem = 71;
inline constexpr int kCannotCreate = 73;
inline constexpr int kNotRecorded = 74;
inline constexpr int kLost = 75;
inline constexpr int kNotPermitted = 77;

// What a shell says of a command that it cannot run.
inline constexpr int kCannotExecute = 126;
inline constexpr int kNoSuchCommand = 127;

inline constexpr int kSignalBase = 128;

}  // namespace idem::tool
