// SQL functions that send every kind of failure through the guards, for test/module/sql/guard.sql.

#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "server/guard.hpp"
#include "server/prelude.hpp"

extern "C" {
PG_MODULE_MAGIC;
}

namespace {

using idem::Error;
using idem::server::inward;
using idem::server::ServerError;

// Counts the objects alive, so that a destructor that was jumped over shows.
int alive = 0;

class Counted {
 public:
  Counted() { alive++; }
  ~Counted() { alive--; }
  Counted(const Counted &) = delete;
  Counted &operator=(const Counted &) = delete;
};

// What the last failure inside an inward guard found restored when it arrived outside.
bool restored = false;

struct Stacks {
  sigjmp_buf *exceptions = PG_exception_stack;
  ErrorContextCallback *contexts = error_context_stack;
  MemoryContext memory = CurrentMemoryContext;

  bool unchanged() const {
    return exceptions == PG_exception_stack && contexts == error_context_stack &&
           memory == CurrentMemoryContext;
  }
};

template <typename Call>
void observe(Call call) {
  const Stacks before;
  restored = false;
  try {
    call();
  } catch (...) {
    restored = before.unchanged();
    throw;
  }
  restored = before.unchanged();
}

// Characters of two bytes each: a cut after an odd number of bytes splits one.
std::string long_text(std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += "\xc3\xa9";
  return text;
}

void exhaust_memory() {
  volatile std::size_t size = static_cast<std::size_t>(-1) / 4;
  const std::vector<char> huge(size);
  (void)huge;
}

void throw_kind(const std::string &kind) {
  const Counted counted;
  if (kind == "full") throw Error("ID499", "the message", "The detail.", "The hint.");
  if (kind == "bare") throw Error("ID498", "only a message");
  if (kind == "format") throw Error("ID497", "100%s %n", "50%d.", "1%m.");
  if (kind == "empty") throw Error("ID496", "");
  if (kind == "long") throw Error("ID495", long_text(5000), long_text(5000), long_text(5000));
  if (kind == "bad_alloc") throw std::bad_alloc();
  if (kind == "exhausted") exhaust_memory();
  if (kind == "runtime_error") throw std::runtime_error("something of the library");
  if (kind == "long_exception") throw std::runtime_error(long_text(5000));
  if (kind == "int") throw 42;
  if (kind == "text") throw "a string literal";
  throw std::logic_error("there is no kind " + kind);
}

void run_sql(const char *sql) {
  SPI_connect();
  const int code = SPI_execute(sql, false, 0);
  if (code < 0) elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(code));
  SPI_finish();
}

// At every level an object is alive while the server may raise an error further down.
void run_nested(const char *sql, int levels) {
  const Counted before;
  const std::string long_enough_for_the_heap(100, 'x');
  observe([&] {
    inward([sql, levels] {
      if (levels > 1)
        run_nested(sql, levels - 1);
      else
        run_sql(sql);
    });
  });
  const Counted after;
}

std::string text_argument(FunctionCallInfo fcinfo, int number) {
  const char *value = inward([=] { return text_to_cstring(PG_GETARG_TEXT_PP(number)); });
  return value;
}

}  // namespace

// Throws an exception of the kind.
IDEM_FUNCTION(idem_test_throw) {
  const Counted counted;
  throw_kind(text_argument(fcinfo, 0));
  return Datum{0};
}

// The same from inside an inward guard, with objects alive on both sides of it.
IDEM_FUNCTION(idem_test_throw_inside) {
  const Counted counted;
  const std::string kind = text_argument(fcinfo, 0);
  observe([&] { inward([&kind] { throw_kind(kind); }); });
  return Datum{0};
}

// Runs SQL inside so many inward guards.
IDEM_FUNCTION(idem_test_run) {
  const char *sql = text_to_cstring(PG_GETARG_TEXT_PP(0));
  run_nested(sql, PG_GETARG_INT32(1));
  return Datum{0};
}

// Returns its argument through an inward guard.
IDEM_FUNCTION(idem_test_return) {
  const Counted counted;
  const std::string unrelated(100, 'x');
  const int32 value = PG_GETARG_INT32(0);
  return Int32GetDatum(inward([value] { return value; }));
}

IDEM_FUNCTION(idem_test_alive) {
  return Int32GetDatum(alive);
}

IDEM_FUNCTION(idem_test_restored) {
  return BoolGetDatum(restored);
}

// Bytes in all memory contexts of this backend.
IDEM_FUNCTION(idem_test_memory) {
  return Int64GetDatum(static_cast<int64>(MemoryContextMemAllocated(TopMemoryContext, true)));
}
