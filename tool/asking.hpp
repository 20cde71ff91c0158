// Statements that may wait for somebody else: a signal ends the wait, and a broken connection is
// made again.

#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "tool/extension.hpp"
#include "tool/renewal.hpp"
#include "tool/report.hpp"
#include "tool/session.hpp"
#include "tool/signals.hpp"

namespace idem::tool {

// A signal ended the wait, and nothing is held.
struct Stopped : std::exception {
  explicit Stopped(int number) : signal(number) {}
  int signal;
};

struct Question {
  std::string sql;
  // The parameters when so much of the wait is left.
  std::function<Row(Duration)> parameters;
  // How long the server may take for an answer that it has to wait for; kForever is possible.
  Duration wait;
  // Gives back what an answer granted that came when a signal had ended the wait already.
  std::function<void(const Answer &)> undo;
};

class Asker {
 public:
  Asker(Session &session, SignalPipe &signals, Report &report)
      : session_(session), signals_(signals), report_(report) {}

  // Throws Stopped, Unavailable or Failure.
  Answer ask(const Question &question);

  // A lease that was asked for long ago, and granted after a wait, is reckoned anew by renewing it.
  Lease reckon(const Lease &lease, const Renewal &renewal);

  // Waits before something is tried again. Throws Stopped.
  void pause(Duration duration);

 private:
  Answer ask_once(const Question &question, TimePoint end);
  void obey_signals(const Question &question);
  void prepare_to_wait();
  void set_for_session(const std::string &setting, const std::string &value);

  Session &session_;
  SignalPipe &signals_;
  Report &report_;
};

// Whether the same statement may succeed when it is sent again.
bool is_passing(const ServerError &error);

// The time at which a wait that begins now is over.
TimePoint end_of_wait(Duration wait);

}  // namespace idem::tool
