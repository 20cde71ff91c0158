#include "tool/protected_run.hpp"

#include <csignal>

#include "tool/exit_codes.hpp"
#include "tool/local_lock.hpp"

namespace idem::tool {

namespace {

int run_unprotected(const RunOptions &options, SignalPipe &signals,
                    const std::shared_ptr<Report> &report) {
  return run_command(options, std::nullopt, {}, nullptr, signals, report).ending.status;
}

int go_on_without(const Unavailable &reason, const RunOptions &options, const std::string &name,
                  SignalPipe &signals, Asker &asker, const std::shared_ptr<Report> &report) {
  if (options.if_unavailable == IfUnavailable::fail) throw reason;
  const std::string because = std::string(" (") + reason.what() + ")";
  if (options.if_unavailable == IfUnavailable::skip) {
    report->warning("skipped",
                    "the command is NOT RUN, because the server is unavailable" + because,
                    {{"mode", "skip"}});
    return 0;
  }
  if (options.if_unavailable == IfUnavailable::run) {
    report->warning(
        "unprotected",
        "the command runs WITHOUT PROTECTION, because the server is unavailable" + because,
        {{"mode", "run"}});
    return run_unprotected(options, signals, report);
  }
  report->warning(
      "unprotected",
      "the command runs protected on THIS MACHINE ONLY, and nothing is recorded, because "
      "the server is unavailable" +
          because,
      {{"mode", "local"}});
  const auto lock = take_local_lock(name, options.wait, asker);
  if (!lock) {
    report->event("conflict", "another process of this machine has the local lock");
    return options.conflict_exit_code;
  }
  return run_unprotected(options, signals, report);
}

}  // namespace

ProtectedRun::ProtectedRun(const CommonOptions &options)
    : report_(std::make_shared<Report>(options.verbose, options.json)),
      session_(std::make_shared<Session>(options.conninfo, *report_)) {}

int ProtectedRun::run_or_go_on(const RunOptions &options, const std::string &local_name) {
  std::optional<Unavailable> unavailable;
  try {
    extension_ = open_extension(*session_, kConnectTimeout);
  } catch (const Unavailable &reason) {
    unavailable = reason;
  }
  signals_.emplace(std::vector<int>(std::begin(kForwarded), std::end(kForwarded)));
  std::signal(SIGPIPE, SIG_IGN);
  Asker asker(*session_, *signals_, *report_);
  try {
    if (!unavailable) return run_on_server(asker);
  } catch (const Unavailable &reason) {
    unavailable = reason;
  }
  return go_on_without(*unavailable, options, local_name, *signals_, asker, report_);
}

}  // namespace idem::tool
