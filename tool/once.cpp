#include <algorithm>
#include <csignal>

#include "tool/claim.hpp"
#include "tool/commands.hpp"
#include "tool/exit_codes.hpp"
#include "tool/operator_session.hpp"
#include "tool/protected_run.hpp"
#include "tool/run.hpp"
#include "tool/settling.hpp"
#include "tool/sql_values.hpp"
#include "tool/stored_result.hpp"
#include "tool/surroundings.hpp"

namespace idem::tool {

namespace {

// Nobody means that many.
constexpr long kMostReruns = 100000;

class Once final : private ProtectedRun {
 public:
  explicit Once(const OnceOptions &options) : ProtectedRun(options), options_(options) {}

  int run() { return run_or_go_on(options_, local_name()); }

 private:
  int run_on_server(Asker &asker) override;
  Claim claim(Claimant &claimant);
  int answer(const Claim &claim);
  int replay(const Claim &claim);
  int work(const Claimant &claimant, const Claim &claim);
  int settle(const Claimant &claimant, const Claim &claim, const Completion &completion);
  int store(const Claimant &claimant, const Claim &claim, const Completion &completion);
  void release(const Claimant &claimant, const Claim &claim, const Completion &completion);
  Environment environment(const Claim &claim) const;
  std::string local_name() const;
  Json fields(const Claim &claim) const;

  const OnceOptions options_;
  long number_ = 1;
};

// The scope allows no more, or the server has no room for it, or takes no such text.
bool is_about_size(const std::string &code) {
  const std::string kind = code.substr(0, 2);
  return code == "ID413" || code == "53200" || kind == "54" || kind == "22";
}

std::string named(const Claim &claim) {
  return "\"" + claim.key + "\"";
}

int Once::run_on_server(Asker &asker) {
  Claimant claimant(options_, extension_, *session_, asker);
  const Claim claimed = claim(claimant);
  return claimed.outcome == "started" ? work(claimant, claimed) : answer(claimed);
}

// With --rerun, the first run that is not done.
Claim Once::claim(Claimant &claimant) {
  for (;; number_++) {
    Claim claimed = claimant.begin(number_);
    if (claimed.outcome != "replayed" || !options_.rerun) return claimed;
    if (number_ >= kMostReruns) throw Failure(kInternal, "there are too many reruns of this run");
  }
}

// Why the command is not run.
int Once::answer(const Claim &claim) {
  if (claim.outcome == "replayed") return replay(claim);
  if (claim.outcome == "in_progress") {
    report_->event("conflict",
                   named(claim) + " is being worked on by " + claim.owner +
                       ", whose claim holds for " + to_words(claim.retry_after) +
                       " unless it is renewed",
                   fields(claim));
    return options_.conflict_exit_code;
  }
  if (claim.outcome == "mismatch")
    throw Failure(kMismatch, named(claim) + " was used with another fingerprint");
  const std::string reason = claim.outcome == "held"
                                 ? "its owner was lost, and its scope wants an operator to decide"
                                 : "it was attempted as often as its scope allows";
  report_->warning(claim.outcome.c_str(),
                   named(claim) + " is not run: " + reason + ". pgidem resolve decides",
                   fields(claim));
  return kHeld;
}

int Once::replay(const Claim &claim) {
  const StoredRun run = from_stored(claim.result, claim.failed, claim.code);
  Json object = fields(claim);
  object["status"] = run.status;
  report_->event("done",
                 named(claim) + " is already done, with exit status " + std::to_string(run.status),
                 object);
  if (options_.fail_when_done) return kAlreadyDone;
  print(run.out);
  std::fwrite(run.err.data(), 1, run.err.size(), stderr);
  if (run.truncated)
    report_->warning("truncated",
                     "the stored output of " + named(claim) + " is only its beginning");
  return run.status;
}

int Once::work(const Claimant &claimant, const Claim &claim) {
  const std::string again = number_ > 1 ? "run number " + std::to_string(number_) + ", " : "";
  report_->event("started", named(claim) + " is claimed: " + again + "attempt " + claim.attempt,
                 fields(claim));
  const Holding holding = {options_.conninfo, session_, claimant.renewal(claim), claim.lease};
  Completion completion;
  try {
    completion = run_command(options_, options_.store_output, environment(claim), &holding,
                             *signals_, report_);
  } catch (const Failure &) {
    Completion nothing;
    nothing.session = session_;
    release(claimant, claim, nothing);
    throw;
  }
  const int status = settle(claimant, claim, completion);
  if (completion.interrupted) kill(0, SIGINT);
  return status;
}

int Once::settle(const Claimant &claimant, const Claim &claim, const Completion &completion) {
  const Ending &ending = completion.ending;
  if (ending.lost) {
    report_->warning("lost", "the lease of " + named(claim) + " was lost, and the command stopped",
                     fields(claim));
    if (!completion.refused)
      Settlement(options_.conninfo, completion, *signals_, *report_)
          .try_to_settle(claimant.release(), claimant.release_parameters(claim));
    return kLost;
  }
  const bool store_it = ending.status == 0 || (options_.store_failure && !ending.not_started);
  if (store_it) return store(claimant, claim, completion);
  release(claimant, claim, completion);
  return ending.status;
}

// A run that is done must not be done again because its output was too much to store.
int Once::store(const Claimant &claimant, const Claim &claim, const Completion &completion) {
  const int status = completion.ending.status;
  const RunResult result = {status, completion.seconds, host_name(), completion.out,
                            completion.err};
  auto limit = static_cast<std::size_t>(options_.store_output.value_or(0));
  Settlement settlement(options_.conninfo, completion, *signals_, *report_);
  for (;;) {
    const std::string json = to_stored(result, limit, !extension_.utf8);
    try {
      settlement.settle(claimant.finish(status != 0),
                        claimant.finish_parameters(claim, json, status));
      report_->event(status == 0 ? "finished" : "failed",
                     named(claim) + " is recorded with exit status " + std::to_string(status),
                     fields(claim));
      return status;
    } catch (const ServerError &error) {
      if (is_about_size(error.code()) && limit > 0) {
        limit /= 2;
        continue;
      }
      report_->warning("not_recorded",
                       "the end of " + named(claim) + " could not be recorded: " + error.what());
    } catch (const ConnectionLost &lost) {
      report_->warning("not_recorded",
                       "the end of " + named(claim) + " could not be recorded: " + lost.what());
    }
    return status == 0 ? kNotRecorded : status;
  }
}

void Once::release(const Claimant &claimant, const Claim &claim, const Completion &completion) {
  try {
    Settlement(options_.conninfo, completion, *signals_, *report_)
        .settle(claimant.release(), claimant.release_parameters(claim));
    report_->event("released", named(claim) + " is released for the next caller", fields(claim));
  } catch (const std::exception &error) {
    report_->warning("not_released",
                     named(claim) + " stays claimed until its lease is over: " + error.what());
  }
}

Environment Once::environment(const Claim &claim) const {
  Environment variables = {{"PGIDEM_TOKEN", claim.token},
                           {"PGIDEM_ATTEMPT", claim.attempt},
                           {"PGIDEM_SCOPE", options_.scope},
                           {"PGIDEM_KEY", claim.key},
                           {"PGIDEM_RUN", std::to_string(number_)}};
  if (claim.checkpoint) variables["PGIDEM_CHECKPOINT"] = *claim.checkpoint;
  return variables;
}

std::string Once::local_name() const {
  const std::string name =
      options_.key.empty() ? options_.task + "\n" + options_.run_id : options_.key;
  return "once:" + options_.scope + ":" + name;
}

Json Once::fields(const Claim &claim) const {
  Json object = {{"scope", options_.scope}, {"key", claim.key}};
  if (number_ > 1) object["run"] = number_;
  if (claim.outcome == "started") {
    object["token"] = claim.token;
    object["attempt"] = claim.attempt;
  } else if (!claim.owner.empty()) {
    object["owner"] = claim.owner;
    object["retry_after_seconds"] = to_seconds(claim.retry_after);
  }
  return object;
}

OnceOptions expanded(OnceOptions options) {
  const Surroundings surroundings = surroundings_now(options.utc);
  options.task = expand_option(options.task, "TASK", surroundings);
  options.run_id = expand_option(options.run_id, "RUN-ID", surroundings);
  options.key = expand_option(options.key, "--key", surroundings);
  return options;
}

}  // namespace

int run_once(const OnceOptions &options) {
  return Once(expanded(options)).run();
}

}  // namespace idem::tool
