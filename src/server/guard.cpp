#include <cstring>

#include "server/guard.hpp"

namespace idem::server {

namespace {

template <std::size_t Size>
void copy_text(char (&to)[Size], const char *from) noexcept {
  const std::size_t length = strnlen(from, Size - 1);
  std::memcpy(to, from, length);
  to[length] = '\0';
}

// Cuts a text that copy_text may have truncated inside a multibyte character.
const char *whole_characters(char *text) {
  const int length = static_cast<int>(std::strlen(text));
  text[pg_mbcliplen(text, length, length)] = '\0';
  return text;
}

}  // namespace

void Failure::keep(const ServerError &error) noexcept {
  server = error.error();
}

void Failure::keep(const Error &error) noexcept {
  server = nullptr;
  copy_text(code, error.code());
  copy_text(message, error.what());
  copy_text(detail, error.detail());
  copy_text(hint, error.hint());
}

void Failure::keep_out_of_memory() noexcept {
  server = nullptr;
  copy_text(code, "53200");
  copy_text(message, "out of memory");
  copy_text(detail, "A C++ allocation failed.");
  hint[0] = '\0';
}

void Failure::keep_unexpected(const char *what) noexcept {
  server = nullptr;
  copy_text(code, "XX000");
  copy_text(message, what);
  detail[0] = '\0';
  copy_text(hint, "This is a defect in pg_idem; please report it.");
}

void raise(const Failure &failure) {
  if (failure.server != nullptr) ReThrowError(failure.server);
  Failure copy = failure;
  const char *code = copy.code;
  ereport(ERROR, (errcode(MAKE_SQLSTATE(code[0], code[1], code[2], code[3], code[4])),
                  errmsg_internal("%s", whole_characters(copy.message)),
                  copy.detail[0] ? errdetail_internal("%s", whole_characters(copy.detail)) : 0,
                  copy.hint[0] ? errhint("%s", whole_characters(copy.hint)) : 0));
  pg_unreachable();
}

void run_inward(void (*thunk)(void *), void *argument) {
  sigjmp_buf *const exception_stack = PG_exception_stack;
  ErrorContextCallback *const context_stack = error_context_stack;
  const MemoryContext context = CurrentMemoryContext;
  sigjmp_buf here;

  if (sigsetjmp(here, 0) == 0) {
    PG_exception_stack = &here;
    try {
      thunk(argument);
    } catch (...) {
      PG_exception_stack = exception_stack;
      error_context_stack = context_stack;
      throw;
    }
    PG_exception_stack = exception_stack;
    error_context_stack = context_stack;
    return;
  }

  PG_exception_stack = exception_stack;
  error_context_stack = context_stack;
  MemoryContextSwitchTo(context);
  ErrorData *error = CopyErrorData();
  FlushErrorState();
  throw ServerError(error);
}

}  // namespace idem::server
