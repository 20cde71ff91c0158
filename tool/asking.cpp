#include "tool/asking.hpp"

#include <poll.h>

#include <algorithm>
#include <csignal>

#include "tool/poll_timeout.hpp"
#include "tool/sql_values.hpp"

namespace idem::tool {

namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// A server that restarts is back by then.
constexpr Duration kOutage = minutes(1);
// What lasts longer than this is no part of an outage.
constexpr Duration kStable = seconds(1);

std::vector<int> ending_signals() {
  return {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
}

}  // namespace

bool is_passing(const ServerError &error) {
  return error.code() == "40001" || error.code() == "40P01";
}

TimePoint end_of_wait(Duration wait) {
  return wait == kForever ? kNever : Clock::now() + wait;
}

// A connection that was there is made again at least once, whatever the wait: the server may have
// closed it for being idle.
Answer Asker::ask(const Question &question) {
  const TimePoint end = end_of_wait(question.wait);
  TimePoint give_up = kNever;
  for (int attempt = 0;; attempt++) {
    TimePoint connected = kNever;
    try {
      {
        const DefaultSignals interruptible(ending_signals());
        session_.connect(kConnectTimeout);
      }
      connected = Clock::now();
      return ask_once(question, end);
    } catch (const ConnectionLost &lost) {
      // After a connection that lasted this is an outage of its own.
      if (connected != kNever && Clock::now() - connected > kStable) {
        give_up = kNever;
        attempt = 0;
      }
      if (give_up == kNever) give_up = std::min(end, Clock::now() + kOutage);
      if (attempt > 0 && Clock::now() >= give_up) throw Unavailable(lost.what());
      report_.warning("connection_lost", std::string("trying again: ") + lost.what());
      if (attempt > 0) pause(milliseconds(500));
    } catch (const ServerError &error) {
      if (!is_passing(error) || attempt >= 100) raise_failure(error);
    }
  }
}

Answer Asker::ask_once(const Question &question, TimePoint end) {
  const Duration left = std::max<Duration>(end - Clock::now(), Duration(0));
  const bool forever = question.wait == kForever;
  if (question.wait > Duration(0)) prepare_to_wait();
  const TimePoint deadline = forever ? kNever : Clock::now() + left + kAnswerTimeout;
  session_.watch(signals_.descriptor());
  try {
    return session_.query(question.sql, question.parameters(forever ? kForever : left), deadline);
  } catch (const Interrupted &) {
    obey_signals(question);
  }
  for (;;) {
    try {
      return session_.query_rest(deadline);
    } catch (const Interrupted &) {
      obey_signals(question);
    }
  }
}

// The limits that a role has for its statements are not meant for one that waits on purpose. And
// the server notices that a client is gone only when it is told to look, from 14 on; else a waiter
// who was killed would get what it waited for.
void Asker::prepare_to_wait() {
  set_for_session("statement_timeout", "0");
  set_for_session("lock_timeout", "0");
  if (session_.server_version() < 140000) return;
  try {
    set_for_session("client_connection_check_interval", "1s");
  } catch (const ServerError &) {
    // Its system cannot do that.
  }
}

void Asker::set_for_session(const std::string &setting, const std::string &value) {
  session_.query("SELECT pg_catalog.set_config($1, $2, false)", {setting, value},
                 Clock::now() + kAnswerTimeout);
}

void Asker::obey_signals(const Question &question) {
  while (const int signal = signals_.next()) {
    if (signal == SIGTSTP) raise(SIGSTOP);
    if (!ends(signal)) continue;
    session_.watch(-1);
    session_.cancel();
    try {
      question.undo(session_.query_rest(Clock::now() + seconds(3)));
    } catch (const ServerError &) {
      // That is what a cancelled statement ends with.
    } catch (const ConnectionLost &) {
      // Then the lease ends what nobody can give back.
    }
    throw Stopped(signal);
  }
}

Lease Asker::reckon(const Lease &lease, const Renewal &renewal) {
  if (Clock::now() - lease.asked <= lease.remaining / 10) return lease;
  TimePoint asked;
  const Question question = {renewal.sql,
                             [&](Duration) {
                               asked = Clock::now();
                               return renewal.parameters;
                             },
                             Duration(0), [](const Answer &) {}};
  const Answer answer = ask(question);
  return {asked, to_duration(answer.rows.at(0).at(0))};
}

void Asker::pause(Duration duration) {
  const TimePoint end = Clock::now() + duration;
  while (Clock::now() < end) {
    pollfd descriptor = {signals_.descriptor(), POLLIN, 0};
    poll(&descriptor, 1, poll_timeout(end));
    while (const int signal = signals_.next()) {
      if (signal == SIGTSTP) raise(SIGSTOP);
      if (ends(signal)) throw Stopped(signal);
    }
  }
}

}  // namespace idem::tool
