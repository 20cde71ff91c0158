// Measures how long it takes until the next one in line has a lock that was given back.
//
//   hand_over WAITERS TIMES LOCK UNLOCK
//
// LOCK and UNLOCK are statements without parameters; the server is the one that libpq finds. One
// session has the lock while WAITERS stand in line. It gives the lock back, the next one has it,
// and stands at the end of the line again when that one gives it back. Prints the microseconds of
// each time: from the answer to UNLOCK to the next one's answer to LOCK, and from when UNLOCK was
// sent.

#include <libpq-fe.h>
#include <poll.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{30};
constexpr char kLock[] = "lock";
constexpr char kUnlock[] = "unlock";

// A session waits when it does so for a lock or in an extension, not for the disk.
constexpr char kWaiting[] =
    "SELECT count(*) FROM pg_stat_activity WHERE state = 'active'"
    " AND wait_event_type IN ('Lock', 'Extension')";

using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

class Session {
 public:
  Session() : connection_(PQconnectdb(""), &PQfinish) {
    if (PQstatus(get()) != CONNECTION_OK) fail();
  }

  void prepare(const char *name, const char *statement) {
    require(Result(PQprepare(get(), name, statement, 0, nullptr), &PQclear));
  }

  std::string ask(const char *statement) {
    const Result result(PQexec(get(), statement), &PQclear);
    require(result);
    return PQgetvalue(result.get(), 0, 0);
  }

  void send(const char *name) {
    if (PQsendQueryPrepared(get(), name, 0, nullptr, nullptr, nullptr, 0) != 1) fail();
    awaited_ = true;
  }

  // True when the whole answer has come.
  bool answered() {
    if (PQconsumeInput(get()) != 1) fail();
    if (PQisBusy(get()) == 1) return false;
    while (const Result result{PQgetResult(get()), &PQclear}) require(result);
    awaited_ = false;
    return true;
  }

  bool awaited() const { return awaited_; }
  int descriptor() const { return PQsocket(get()); }

 private:
  PGconn *get() const { return connection_.get(); }

  [[noreturn]] void fail() const { throw std::runtime_error(PQerrorMessage(get())); }

  void require(const Result &result) const {
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) fail();
  }

  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
  bool awaited_ = false;
};

// The next session that has its answer.
Session *next_answer(const std::vector<Session *> &sessions) {
  std::vector<pollfd> waiting;
  for (const Session *session : sessions) waiting.push_back({session->descriptor(), POLLIN, 0});
  const Clock::time_point deadline = Clock::now() + kPatience;
  while (Clock::now() < deadline) {
    (void)poll(waiting.data(), waiting.size(), 1000);
    for (std::size_t i = 0; i < sessions.size(); i++)
      if (waiting[i].revents != 0 && sessions[i]->awaited() && sessions[i]->answered())
        return sessions[i];
  }
  throw std::runtime_error("nobody has the lock");
}

class Line {
 public:
  Line(int waiters, const char *lock, const char *unlock) {
    for (int i = 0; i <= waiters; i++) {
      sessions_.push_back(std::make_unique<Session>());
      sessions_.back()->prepare(kLock, lock);
      sessions_.back()->prepare(kUnlock, unlock);
      join(sessions_.back().get(), i);
    }
  }

  // Sessions wait for some time, such that those who look now and then do so at any moment of it.
  void hand_over() {
    std::this_thread::sleep_for(std::chrono::microseconds(pause_(random_)));
    Session *last = line_.front();
    const Clock::time_point sent = Clock::now();
    const Times times = release();
    std::printf("%.1f %.1f\n", micros(times.had - times.unlocked), micros(times.had - sent));
    join(last, static_cast<int>(line_.size()));
  }

  // A durable lock would outlive its session, and who waits does not notice that we are gone.
  void dissolve() {
    while (line_.size() > 1) (void)release();
    line_.front()->send(kUnlock);
    (void)next_answer({line_.front()});
  }

 private:
  struct Times {
    Clock::time_point unlocked;
    Clock::time_point had;
  };

  // The first one gives the lock back, and the second one has it.
  Times release() {
    Session *last = line_.front();
    line_.pop_front();
    last->send(kUnlock);
    Times times;
    for (int i = 0; i < 2; i++) {
      const Session *answered = next_answer({last, line_.front()});
      (answered == last ? times.unlocked : times.had) = Clock::now();
    }
    return times;
  }

  static double micros(Clock::duration time) {
    return std::chrono::duration<double, std::micro>(time).count();
  }

  void join(Session *session, int others) {
    line_.push_back(session);
    session->send(kLock);
    if (others == 0) {
      (void)next_answer({session});
      return;
    }
    const Clock::time_point deadline = Clock::now() + kPatience;
    while (watcher_.ask(kWaiting) != std::to_string(others)) {
      if (Clock::now() > deadline) throw std::runtime_error("the session does not wait");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  Session watcher_;
  std::vector<std::unique_ptr<Session>> sessions_;
  std::deque<Session *> line_;
  std::minstd_rand random_;
  std::uniform_int_distribution<int> pause_{20'000, 120'000};
};

}  // namespace

int main(int argc, char **argv) {
  if (argc != 5) {
    std::fputs("usage: hand_over WAITERS TIMES LOCK UNLOCK\n", stderr);
    return 2;
  }
  try {
    Line line(std::atoi(argv[1]), argv[3], argv[4]);
    for (int i = 0; i < std::atoi(argv[2]); i++) line.hand_over();
    line.dissolve();
  } catch (const std::exception &error) {
    std::fprintf(stderr, "hand_over: %s\n", error.what());
    return 1;
  }
  return 0;
}
