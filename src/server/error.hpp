// The pure half of the frontier: what code without server headers throws, and every SQLSTATE of
// ours.

#pragma once

#include <exception>
#include <string>
#include <utility>

namespace idem {

// Class ID belongs to nobody: the SQL standard leaves classes beginning with I to Z to
// implementations.
namespace sqlstate {
inline constexpr char kNotDeclared[] = "ID001";
inline constexpr char kFinalState[] = "ID002";
inline constexpr char kNotInitial[] = "ID003";
inline constexpr char kUnknownState[] = "ID004";
inline constexpr char kGuardRefused[] = "ID005";
inline constexpr char kNoMachine[] = "ID006";
inline constexpr char kReusedEvent[] = "ID007";
inline constexpr char kStaleVersion[] = "ID010";
inline constexpr char kFenced[] = "ID021";
inline constexpr char kGap[] = "ID030";
inline constexpr char kFencedProducer[] = "ID031";
inline constexpr char kUnknownProducer[] = "ID032";
inline constexpr char kTooOld[] = "ID033";
inline constexpr char kNodeOrClock[] = "ID040";
inline constexpr char kBadArgument[] = "ID400";
inline constexpr char kNoSuchClaim[] = "ID404";
inline constexpr char kInProgress[] = "ID409";
inline constexpr char kStaleToken[] = "ID410";
inline constexpr char kOtherResult[] = "ID412";
inline constexpr char kTooLarge[] = "ID413";
inline constexpr char kFingerprint[] = "ID422";
inline constexpr char kHeld[] = "ID423";
}  // namespace sqlstate

// Thrown by pure code; the outward guard turns it into an ERROR with the same four parts. Texts are
// in the server's encoding and follow its style: message in lower case without a full stop, detail
// and hint as sentences.
class Error : public std::exception {
 public:
  Error(const char (&code)[6], std::string message, std::string detail = {}, std::string hint = {})
      : code_(code),
        message_(std::move(message)),
        detail_(std::move(detail)),
        hint_(std::move(hint)) {}

  const char *what() const noexcept override { return message_.c_str(); }
  const char *code() const noexcept { return code_; }
  const char *detail() const noexcept { return detail_.c_str(); }
  const char *hint() const noexcept { return hint_.c_str(); }

 private:
  const char *code_;
  std::string message_;
  std::string detail_;
  std::string hint_;
};

}  // namespace idem
