// Locks and unlocks in a Redis server as fast as it answers, over a Unix socket, as pgbench does
// in PostgreSQL: each thread serves several connections, and each connection waits for its answer
// before it asks again.
//
//   redis_client SOCKET CLIENTS THREADS WARM SECONDS own|shared PAUSE
//
// PAUSE is how many milliseconds to wait before asking again for a name that somebody else has.
// Prints how often a lock was had and given back in the seconds after the warming up, how often
// somebody else had it, and the seconds; a line "warm" comes when they begin.

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

// What Redis documents for a lock on one server: only who still has it gives it back.
constexpr std::string_view kUnlock =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) "
    "else return 0 end";
constexpr std::string_view kMilliseconds = "30000";

std::atomic<bool> counting{false};
std::atomic<bool> ended{false};

std::string command(const std::vector<std::string_view> &words) {
  std::string text = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string_view word : words)
    text.append("$").append(std::to_string(word.size())).append("\r\n").append(word).append("\r\n");
  return text;
}

class Connection {
 public:
  explicit Connection(const std::string &path) : socket_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) throw std::runtime_error("too long: " + path);
    std::memcpy(address.sun_path, path.c_str(), path.size());
    if (connect(socket_, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0)
      throw std::system_error(errno, std::generic_category(), path);
  }

  int descriptor() const { return socket_; }

  void send(const std::string &text) {
    if (write(socket_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
      throw std::runtime_error("the server took only part of a command");
  }

  // Answers of a few bytes come whole.
  std::string_view receive() {
    const ssize_t size = read(socket_, buffer_, sizeof buffer_);
    if (size < 2 || buffer_[size - 1] != '\n') throw std::runtime_error("the server went away");
    return {buffer_, static_cast<std::size_t>(size - 2)};
  }

 private:
  int socket_;
  char buffer_[256];
};

struct Plan {
  std::string path;
  int clients;
  int threads;
  int warm;
  int seconds;
  bool shared;
  int pause;
};

struct Counts {
  long pairs = 0;
  long refusals = 0;
};

class Client {
 public:
  Client(const Plan &plan, int number, const std::string &script)
      : connection_(plan.path),
        name_(plan.shared ? "one for all" : "lock " + std::to_string(number)),
        script_(script),
        pause_(plan.pause),
        number_(number) {
    lock();
  }

  int descriptor() const { return connection_.descriptor(); }

  // Milliseconds until a pause is over; -1 when an answer is due instead.
  int remaining() const {
    if (!pausing_) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until_ - Clock::now());
    return std::max(0, static_cast<int>(left.count()));
  }

  void go_on() {
    pausing_ = false;
    lock();
  }

  // Goes on with what the server answered.
  void step(Counts *counts) {
    const std::string_view answer = connection_.receive();
    if (!holds_ && answer == "+OK") {
      holds_ = true;
      connection_.send(command({"EVALSHA", script_, "1", name_, value_}));
    } else if (!holds_ && answer == "$-1") {
      counts->refusals += counting ? 1 : 0;
      pausing_ = true;
      until_ = Clock::now() + pause_;
    } else if (holds_ && answer == ":1") {
      holds_ = false;
      counts->pairs += counting ? 1 : 0;
      lock();
    } else {
      throw std::runtime_error("unexpected answer: " + std::string(answer));
    }
  }

 private:
  // The value tells this holder from any other one.
  void lock() {
    value_ = std::to_string(number_) + ":" + std::to_string(++turn_);
    connection_.send(command({"SET", name_, value_, "NX", "PX", kMilliseconds}));
  }

  Connection connection_;
  std::string name_;
  std::string script_;
  std::string value_;
  std::chrono::milliseconds pause_;
  Clock::time_point until_;
  int number_;
  long turn_ = 0;
  bool holds_ = false;
  bool pausing_ = false;
};

// Starts those whose pause is over; returns how long the others have to wait at least.
int end_pauses(std::vector<Client> *clients) {
  int least = 100;
  for (Client &client : *clients) {
    const int remaining = client.remaining();
    if (remaining == 0)
      client.go_on();
    else if (remaining > 0)
      least = std::min(least, remaining);
  }
  return least;
}

void serve(std::vector<Client> clients, Counts *counts) {
  std::vector<pollfd> waiting;
  for (const Client &client : clients) waiting.push_back({client.descriptor(), POLLIN, 0});
  while (!ended) {
    if (poll(waiting.data(), waiting.size(), end_pauses(&clients)) < 0)
      throw std::system_error(errno, std::generic_category(), "poll");
    for (std::size_t i = 0; i < clients.size(); i++)
      if (waiting[i].revents != 0) clients[i].step(counts);
  }
}

std::string load_script(const std::string &path) {
  Connection connection(path);
  connection.send(command({"SCRIPT", "LOAD", kUnlock}));
  const std::string answer(connection.receive());
  const std::size_t begin = answer.find('\n');
  if (answer[0] != '$' || begin == std::string::npos) throw std::runtime_error(answer);
  return answer.substr(begin + 1);
}

Counts run(const Plan &plan, double *seconds) {
  const std::string script = load_script(plan.path);
  std::vector<std::vector<Client>> shares(static_cast<std::size_t>(plan.threads));
  for (int i = 0; i < plan.clients; i++)
    shares[static_cast<std::size_t>(i % plan.threads)].emplace_back(plan, i, script);
  std::vector<Counts> counts(shares.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < shares.size(); i++)
    threads.emplace_back(serve, std::move(shares[i]), &counts[i]);
  std::this_thread::sleep_for(std::chrono::seconds(plan.warm));
  std::puts("warm");
  std::fflush(stdout);
  const Clock::time_point begin = Clock::now();
  counting = true;
  std::this_thread::sleep_for(std::chrono::seconds(plan.seconds));
  counting = false;
  *seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  ended = true;
  for (std::thread &thread : threads) thread.join();
  Counts sum;
  for (const Counts &one : counts) {
    sum.pairs += one.pairs;
    sum.refusals += one.refusals;
  }
  return sum;
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 8) {
    std::fputs("usage: redis_client SOCKET CLIENTS THREADS WARM SECONDS own|shared PAUSE\n",
               stderr);
    return 2;
  }
  const Plan plan = {argv[1],
                     std::atoi(argv[2]),
                     std::atoi(argv[3]),
                     std::atoi(argv[4]),
                     std::atoi(argv[5]),
                     std::string_view(argv[6]) == "shared",
                     std::atoi(argv[7])};
  try {
    double seconds = 0;
    const Counts counts = run(plan, &seconds);
    std::printf("%ld %ld %.6f\n", counts.pairs, counts.refusals, seconds);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "redis_client: %s\n", error.what());
    return 1;
  }
  return 0;
}
