#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <variant>

#include "tool/asking.hpp"
#include "tool/commands.hpp"
#include "tool/failure.hpp"
#include "tool/operator_session.hpp"
#include "tool/options.hpp"
#include "tool/report.hpp"
#include "tool/signals.hpp"

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

struct WantsJson {
  bool operator()(const Text & /*text*/) const { return false; }
  bool operator()(const CommonOptions &options) const { return options.json; }
};

// Whatever goes wrong is said in the form that was asked for.
int run(int argc, char **argv) {
  bool json = false;
  try {
    const Options options = parse_options(argc, argv);
    json = std::visit(WantsJson(), options);
    return std::visit(Run(), options);
  } catch (const Stopped &stopped) {
    die_of(stopped.signal);
  } catch (const Failure &failure) {
    Report(false, json).warning("error", failure.what(), {{"status", failure.status()}});
    return failure.status();
  } catch (const std::exception &error) {
    Report(false, json).warning("error", error.what(), {{"status", kInternal}});
    return kInternal;
  }
}

// Whoever started us may have closed one of the three; then a pipe or a socket would take its
// number, and what is written for people would go there.
void open_standard_streams() {
  int descriptor = 0;
  do {
    descriptor = open("/dev/null", O_RDWR);
  } while (descriptor >= 0 && descriptor <= STDERR_FILENO);
  if (descriptor >= 0) close(descriptor);
}

}  // namespace

// A thread may be left behind in a call to the server; nothing must be taken from under it.
int main(int argc, char **argv) {
  open_standard_streams();
  const int status = run(argc, argv);
  std::fflush(stdout);
  _exit(status);
}
