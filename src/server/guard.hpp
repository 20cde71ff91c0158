// The two guards at the frontier between C++ exceptions and the server's longjmp.
//
// Law: a function either throws (pure C++) or may ereport (server C++, holding only trivially
// destructible locals). Where one must call the other, a guard stands between them:
//   - outward: around the body of every function that the server calls. Nothing thrown leaves it.
//   - inward: around a server call that is made while an object with a destructor is alive. It must
//     be called from a frame at or below the one that owns the object: the error resumes there as
//     an exception, and unwinding runs the destructors on its way to the outward guard.

#pragma once

#include <exception>
#include <new>
#include <type_traits>

#include "server/error.hpp"
#include "server/prelude.hpp"

namespace idem::server {

// The numeric form of one of our SQLSTATEs, for errcode().
constexpr int errcode_of(const char (&code)[6]) {
  return MAKE_SQLSTATE(code[0], code[1], code[2], code[3], code[4]);
}

// A server error on its way through C++ frames. Only the inward guard throws it and only the
// outward guard may catch it: the transaction is already doomed, so nobody else may carry on. The
// ErrorData lives in the memory context that was current when the guarded call began.
class ServerError final : public std::exception {
 public:
  explicit ServerError(ErrorData *error) noexcept : error_(error) {}
  const char *what() const noexcept override { return "error raised by the server"; }
  ErrorData *error() const noexcept { return error_; }

 private:
  ErrorData *error_;
};

// What is left of an exception after its catch block. Fixed size and trivially destructible,
// because the ereport that follows jumps out of the frame that holds it.
struct Failure {
  ErrorData *server;
  char code[6];
  char message[1024];
  char detail[1024];
  char hint[512];

  void keep(const ServerError &error) noexcept;
  void keep(const Error &error) noexcept;
  void keep_out_of_memory() noexcept;
  void keep_unexpected(const char *what) noexcept;
};
static_assert(std::is_trivially_destructible_v<Failure>);

// Raises the failure as an ERROR. Call it outside every catch block: jumping out of one would leave
// the C++ runtime believing that the exception is still being handled.
[[noreturn]] void raise(const Failure &failure);

// Calls body(arguments...) and returns what it returns; whatever it throws becomes an ERROR.
template <typename Body, typename... Arguments>
auto outward(Body body, Arguments... arguments) {
  Failure failure;
  try {
    return body(arguments...);
  } catch (const ServerError &error) {
    failure.keep(error);
  } catch (const Error &error) {
    failure.keep(error);
  } catch (const std::bad_alloc &) {
    failure.keep_out_of_memory();
  } catch (const std::exception &error) {
    failure.keep_unexpected(error.what());
  } catch (...) {
    failure.keep_unexpected("exception of unknown type");
  }
  raise(failure);
}

// Calls thunk(argument); an ERROR inside becomes a ServerError, with the server's error stack,
// exception stack and memory context as they were before the call.
void run_inward(void (*thunk)(void *), void *argument);

// Calls call() and returns its result; see run_inward. The callable must hold trivial objects only:
// an ERROR jumps over its frame.
template <typename Call>
auto inward(Call call) -> decltype(call()) {
  using Result = decltype(call());
  static_assert(std::is_trivially_destructible_v<Call>);
  if constexpr (std::is_void_v<Result>) {
    run_inward([](void *argument) { (*static_cast<Call *>(argument))(); }, &call);
  } else {
    static_assert(std::is_trivially_copyable_v<Result>);
    struct Frame {
      Call *call;
      Result result;
    } frame{&call, Result{}};
    run_inward(
        [](void *argument) {
          auto *inner = static_cast<Frame *>(argument);
          inner->result = (*inner->call)();
        },
        &frame);
    return frame.result;
  }
}

}  // namespace idem::server

// Declares the SQL-callable C function `name` and opens its guarded body.
#define IDEM_FUNCTION(name)                            \
  static Datum name##_body(FunctionCallInfo fcinfo);   \
  extern "C" {                                         \
  PG_FUNCTION_INFO_V1(name);                           \
  PGDLLEXPORT Datum name(PG_FUNCTION_ARGS) {           \
    return idem::server::outward(name##_body, fcinfo); \
  }                                                    \
  }                                                    \
  static Datum name##_body([[maybe_unused]] FunctionCallInfo fcinfo)
