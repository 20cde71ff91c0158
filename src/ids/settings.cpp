#include "ids/settings.hpp"

#include "ids/layout.hpp"
#include "server/prelude.hpp"

namespace idem::ids {

namespace {

constexpr int kDefaultClockBack = 10 * 1000;
constexpr int kLeastClockBack = 1000;

// A database or a role with its settings is dumped and restored elsewhere, and the number with it.
bool check_node_id(int *, void **, GucSource source) {
  switch (source) {
    case PGC_S_TEST:
    case PGC_S_GLOBAL:
    case PGC_S_DATABASE:
    case PGC_S_USER:
    case PGC_S_DATABASE_USER:
      GUC_check_errdetail("It belongs to the server, not to a database, a role or a function.");
      GUC_check_errhint("Set it in postgresql.conf or by ALTER SYSTEM.");
      return false;
    default:
      return true;
  }
}

}  // namespace

Settings settings = {kNoNode, kDefaultClockBack};

void define_settings() {
  DefineCustomIntVariable(
      "idem.node_id", "Number of this server, a part of every id that idem_snowflake makes.",
      "Servers whose ids must differ need different numbers. -1 stands for none.",
      &settings.node_id, kNoNode, kNoNode, kLastNode, PGC_SUSET, 0, check_node_id, nullptr,
      nullptr);
  DefineCustomIntVariable("idem.max_clock_back",
                          "How far ids may run ahead of the clock before idem_snowflake fails.",
                          nullptr, &settings.max_clock_back, kDefaultClockBack, kLeastClockBack,
                          INT_MAX, PGC_SUSET, GUC_UNIT_MS, nullptr, nullptr, nullptr);
}

}  // namespace idem::ids
