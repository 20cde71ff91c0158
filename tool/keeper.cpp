#include "tool/keeper.hpp"

#include <algorithm>
#include <csignal>

#include "tool/sql_values.hpp"
#include "tool/values.hpp"

namespace idem::tool {

namespace {

// Signals are for the main thread.
void leave_signals_alone() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace

// Shared with the thread, which may have to be left behind in a call.
struct Keeper::State {
  State(std::string conninfo, Renewal renewal_, const Lease &lease_,
        std::shared_ptr<Guardian> guardian_, std::shared_ptr<Session> spare_,
        std::shared_ptr<Report> report_)
      : renewal(std::move(renewal_)),
        guardian(std::move(guardian_)),
        report(std::move(report_)),
        own(std::make_shared<Session>(std::move(conninfo), *report)),
        spare(std::move(spare_)),
        lease(lease_) {}

  void run();
  bool sleep_until(TimePoint time);
  bool attempt();
  void renewed(const Lease &renewed);
  void refused(const std::string &reason);
  void failed(const std::string &reason);

  const Renewal renewal;
  const std::shared_ptr<Guardian> guardian;
  const std::shared_ptr<Report> report;
  std::shared_ptr<Session> own;
  std::shared_ptr<Session> spare;

  mutable std::mutex mutex;
  std::condition_variable wake;
  Lease lease;
  bool stopping = false;
  bool stopped = false;
  bool lost = false;
};

// Another host may answer where one does not, so the time for one attempt to connect is short.
bool Keeper::State::attempt() {
  const Duration patience =
      std::clamp<Duration>(lease.remaining / 6, std::chrono::seconds(1), std::chrono::seconds(10));
  try {
    own->connect(patience);
    renewed(renew(*own, renewal, Clock::now() + patience));
    return true;
  } catch (const ConnectionLost &error) {
    failed(error.what());
  } catch (const ServerError &error) {
    if (error.code().substr(0, 2) == "ID") {
      refused(error.what());
      return true;
    }
    failed(error.what());
    // It may be a standby by now, and the primary elsewhere.
    own->close();
  }
  std::swap(own, spare);
  return false;
}

void Keeper::State::run() {
  leave_signals_alone();
  TimePoint next = renew_at(lease);
  while (sleep_until(next)) next = attempt() ? renew_at(lease) : Clock::now() + retry_pause(lease);
  const std::lock_guard<std::mutex> guard(mutex);
  stopped = true;
  wake.notify_all();
}

// False when it is time to end.
bool Keeper::State::sleep_until(TimePoint time) {
  std::unique_lock<std::mutex> guard(mutex);
  while (!stopping && !lost && Clock::now() < time) {
    // In slices, because the condition's clock stands still while the machine is suspended.
    const Duration left = std::min<Duration>(time - Clock::now(), std::chrono::seconds(1));
    wake.wait_for(guard, std::max<Duration>(left, Duration(1)));
  }
  return !stopping && !lost;
}

void Keeper::State::renewed(const Lease &renewed) {
  {
    const std::lock_guard<std::mutex> guard(mutex);
    lease = renewed;
  }
  guardian->renew(renewed);
  report->event("renewed", "renewed the lease; " + to_words(renewed.remaining) + " are left",
                {{"lease_seconds", to_seconds(renewed.remaining)}});
}

void Keeper::State::refused(const std::string &reason) {
  {
    const std::lock_guard<std::mutex> guard(mutex);
    lost = true;
  }
  guardian->stop();
  report->warning("lost", "the lease is lost: " + reason);
}

void Keeper::State::failed(const std::string &reason) {
  const Duration left = lease.end() - Clock::now();
  report->warning("not_renewed", "cannot renew the lease, which ends in " +
                                     to_words(std::max(left, Duration(0))) + ": " + reason);
}

Keeper::Keeper(std::string conninfo, Renewal renewal, const Lease &lease,
               std::shared_ptr<Guardian> guardian, std::shared_ptr<Session> spare,
               std::shared_ptr<Report> report)
    : state_(std::make_shared<State>(std::move(conninfo), std::move(renewal), lease,
                                     std::move(guardian), std::move(spare), std::move(report))) {
  std::thread([state = state_] { state->run(); }).detach();
}

Keeper::~Keeper() {
  stop(Duration(0));
}

bool Keeper::stop(Duration patience) {
  std::unique_lock<std::mutex> guard(state_->mutex);
  state_->stopping = true;
  state_->wake.notify_all();
  return state_->wake.wait_for(guard, patience, [this] { return state_->stopped; });
}

Lease Keeper::lease() const {
  const std::lock_guard<std::mutex> guard(state_->mutex);
  return state_->lease;
}

bool Keeper::lost() const {
  const std::lock_guard<std::mutex> guard(state_->mutex);
  return state_->lost;
}

}  // namespace idem::tool
