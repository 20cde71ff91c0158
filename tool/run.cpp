#include "tool/run.hpp"

#include <unistd.h>

#include <cstdlib>
#include <random>

#include "tool/backoff.hpp"
#include "tool/exit_codes.hpp"
#include "tool/sql_values.hpp"

namespace idem::tool {

namespace {

// The variables of a pgidem round this one are not for this command.
void set_environment(const Environment &environment) {
  for (const char *name : {"PGIDEM_TOKEN", "PGIDEM_ATTEMPT", "PGIDEM_SCOPE", "PGIDEM_KEY",
                           "PGIDEM_RUN", "PGIDEM_LOCK", "PGIDEM_CHECKPOINT"})
    unsetenv(name);
  for (const auto &[name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
}

double random_part() {
  std::random_device device;
  return std::uniform_real_distribution<double>(0, 1)(device);
}

struct Streams {
  std::unique_ptr<Stream> out;
  std::unique_ptr<Stream> err;

  explicit Streams(std::optional<long> limit) {
    if (!limit) return;
    out = std::make_unique<Stream>(STDOUT_FILENO, static_cast<std::size_t>(*limit));
    err = std::make_unique<Stream>(STDERR_FILENO, static_cast<std::size_t>(*limit));
  }

  std::vector<Stream *> list() const {
    if (!out) return {};
    return {out.get(), err.get()};
  }
};

Launch launch_of(const RunOptions &options, const SignalPipe &signals, const Streams &streams,
                 const Terminal &terminal) {
  Launch launch = {options.command, &signals.original(), -1, -1, terminal.descriptor(), getpgrp()};
  if (streams.out) {
    launch.out = streams.out->writing_end();
    launch.err = streams.err->writing_end();
  }
  return launch;
}

std::vector<int> not_for_guardian(const Holding *holding, const Streams &streams) {
  std::vector<int> descriptors;
  if (holding && holding->session->descriptor() >= 0)
    descriptors.push_back(holding->session->descriptor());
  for (const Stream *stream : streams.list()) descriptors.push_back(stream->reading_end());
  return descriptors;
}

// Until it succeeds, or may not be tried again.
Ending run_attempts(const RunOptions &options, Supervisor &supervisor, Guardian &guardian,
                    const Streams &streams, Report &report) {
  for (long failed = 0;; failed++) {
    Ending ending = supervisor.wait_for_command();
    if (ending.not_started) return ending;
    report.event("exited", "the command ended with status " + std::to_string(ending.status),
                 {{"status", ending.status}});
    const bool final = ending.status == 0 || ending.lost;
    if (final || supervisor.ending_signal() != 0 || failed >= options.retries) return ending;
    const Duration wait = backoff_wait(options.backoff, failed, random_part());
    report.event("retry", "running it again in " + to_words(wait),
                 {{"retry", failed + 1}, {"seconds", to_seconds(wait)}, {"status", ending.status}});
    if (!supervisor.pause(wait, ending)) return ending;
    for (Stream *stream : streams.list()) stream->start_again();
    guardian.run_again();
  }
}

// The keeper must let go of the connections before anybody else uses one.
void end_keeping(Keeper &keeper, const Holding &holding, Completion &completion, Report &report) {
  const bool free = keeper.stop(std::chrono::seconds(2));
  completion.lease = keeper.lease();
  completion.refused = keeper.lost();
  completion.session = free ? holding.session : std::make_shared<Session>(holding.conninfo, report);
}

}  // namespace

Completion run_command(const RunOptions &options, std::optional<long> store_output,
                       const Environment &environment, const Holding *holding, SignalPipe &signals,
                       const std::shared_ptr<Report> &report) {
  set_environment(environment);
  const Streams streams(store_output);
  Terminal terminal;
  const TimePoint start = Clock::now();
  const Lease lease = holding ? holding->lease : Lease{start, Duration::max()};
  const auto guardian =
      std::make_shared<Guardian>(launch_of(options, signals, streams, terminal), lease,
                                 options.kill_after, not_for_guardian(holding, streams));
  std::optional<Keeper> keeper;
  if (holding)
    keeper.emplace(holding->conninfo, holding->renewal, lease, guardian, holding->session, report);
  Supervisor supervisor(signals, *guardian, keeper ? &*keeper : nullptr, terminal, streams.list(),
                        options.command[0], *report);
  Completion completion;
  completion.ending = run_attempts(options, supervisor, *guardian, streams, *report);
  completion.seconds = to_seconds(Clock::now() - start);
  completion.interrupted =
      terminal.descriptor() >= 0 && completion.ending.status == kSignalBase + SIGINT;
  if (streams.out) {
    completion.out = streams.out->capture();
    completion.err = streams.err->capture();
  }
  if (keeper) end_keeping(*keeper, *holding, completion, *report);
  return completion;
}

}  // namespace idem::tool
