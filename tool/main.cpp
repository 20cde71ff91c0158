#include <cstdio>
#include <exception>
#include <variant>

#include "tool/commands.hpp"
#include "tool/failure.hpp"
#include "tool/operator_session.hpp"
#include "tool/options.hpp"

namespace {

using namespace idem::tool;

struct Run {
  int operator()(const Text &text) const {
    print(text.text);
    return 0;
  }
  int operator()(const OnceOptions &options) const { return run_once(options); }
  int operator()(const LockOptions &options) const { return run_lock(options); }
  int operator()(const GetOptions &options) const { return run_get(options); }
  int operator()(const ForgetOptions &options) const { return run_forget(options); }
  int operator()(const ResolveOptions &options) const { return run_resolve(options); }
  int operator()(const LocksOptions &options) const { return run_locks(options); }
  int operator()(const StatOptions &options) const { return run_stat(options); }
  int operator()(const TopOptions &options) const { return run_top(options); }
};

}  // namespace

int main(int argc, char **argv) {
  try {
    return std::visit(Run(), parse_options(argc, argv));
  } catch (const Failure &failure) {
    std::fprintf(stderr, "pgidem: %s\n", failure.what());
    return failure.status();
  } catch (const std::exception &error) {
    std::fprintf(stderr, "pgidem: %s\n", error.what());
    return kInternal;
  }
}
