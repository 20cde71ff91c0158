#include <csignal>

#include "tool/commands.hpp"
#include "tool/durable_lock.hpp"
#include "tool/exit_codes.hpp"
#include "tool/protected_run.hpp"
#include "tool/run.hpp"
#include "tool/settling.hpp"
#include "tool/sql_values.hpp"
#include "tool/surroundings.hpp"

namespace idem::tool {

namespace {

class Locking final : private ProtectedRun {
 public:
  explicit Locking(const LockOptions &options) : ProtectedRun(options), options_(options) {}

  int run() { return run_or_go_on(options_, "lock:" + options_.name); }

 private:
  int run_on_server(Asker &asker) override;
  int conflict(const Grant &grant);
  int work(const DurableLock &lock, const Grant &grant);
  int settle(const DurableLock &lock, const Grant &grant, const Completion &completion);
  Json fields(const Grant &grant) const;
  std::string named() const { return "lock \"" + options_.name + "\""; }

  const LockOptions options_;
};

int Locking::run_on_server(Asker &asker) {
  DurableLock lock(options_, extension_, *session_, asker);
  const Grant grant = lock.take();
  return grant.acquired ? work(lock, grant) : conflict(grant);
}

int Locking::conflict(const Grant &grant) {
  report_->event("conflict",
                 named() + " is held by " + grant.holder + " for another " +
                     to_words(grant.retry_after) + " unless it is renewed",
                 fields(grant));
  return options_.conflict_exit_code;
}

int Locking::work(const DurableLock &lock, const Grant &grant) {
  if (grant.after_loss)
    report_->event("after_loss", "the holder of " + named() + " before was lost", fields(grant));
  report_->event("locked", named() + " is held", fields(grant));
  const Holding holding = {options_.conninfo, session_, lock.renewal(grant), grant.lease};
  const Environment environment = {{"PGIDEM_LOCK", options_.name}, {"PGIDEM_TOKEN", grant.token}};
  Completion completion;
  try {
    completion = run_command(options_, std::nullopt, environment, &holding, *signals_, report_);
  } catch (const Failure &) {
    completion.session = session_;
    settle(lock, grant, completion);
    throw;
  }
  const int status = settle(lock, grant, completion);
  if (completion.interrupted) kill(0, SIGINT);
  return status;
}

// The command has its own end, whatever becomes of the lock.
int Locking::settle(const DurableLock &lock, const Grant &grant, const Completion &completion) {
  if (completion.ending.lost) {
    report_->warning("lost", named() + " was lost, and the command stopped", fields(grant));
    if (!completion.refused)
      Settlement(options_.conninfo, completion, *signals_, *report_)
          .try_to_settle(lock.unlock(), lock.unlock_parameters(grant));
    return kLost;
  }
  try {
    Settlement(options_.conninfo, completion, *signals_, *report_)
        .settle(lock.unlock(), lock.unlock_parameters(grant));
    report_->event("unlocked", named() + " is released", fields(grant));
  } catch (const std::exception &error) {
    report_->warning("not_unlocked",
                     named() + " stays shut until its time is over: " + error.what());
  }
  return completion.ending.status;
}

Json Locking::fields(const Grant &grant) const {
  Json object = {{"lock", options_.name}};
  if (grant.acquired) {
    object["token"] = grant.token;
  } else {
    object["holder"] = grant.holder;
    object["retry_after_seconds"] = to_seconds(grant.retry_after);
  }
  return object;
}

}  // namespace

int run_lock(const LockOptions &options) {
  LockOptions expanded = options;
  expanded.name = expand_option(options.name, "NAME", surroundings_now(options.utc));
  if (expanded.name.empty()) throw Failure(kUsage, "NAME must not be empty");
  return Locking(expanded).run();
}

}  // namespace idem::tool
