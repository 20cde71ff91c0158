#include "tool/launch.hpp"

#include <csignal>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace idem::tool {

namespace {

// The system forgets this when the command changes its user; then only the guardian is left.
void die_with(pid_t parent) {
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  if (getppid() != parent) _exit(0);
}

[[noreturn]] void execute(const Launch &launch, pid_t parent, int trouble) {
  setpgid(0, 0);
  // SIGTTOU is blocked here, as every signal is.
  if (launch.terminal >= 0 && tcgetpgrp(launch.terminal) == launch.group)
    tcsetpgrp(launch.terminal, getpid());
  die_with(parent);
  if (launch.out >= 0) dup2(launch.out, STDOUT_FILENO);
  if (launch.err >= 0) dup2(launch.err, STDERR_FILENO);
  std::vector<char *> arguments;
  for (const std::string &word : launch.command)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  SignalPipe::restore(*launch.signals);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  if (write(trouble, &error, sizeof error) < 0) _exit(126);
  _exit(127);
}

}  // namespace

Launched launch(const Launch &launch) {
  Pair trouble = make_pipe();
  const pid_t parent = getpid();
  // What the guardian ignores, the new process would miss: blocked, a signal waits until it is to
  // do what it does to the command.
  const NoSignals no_signals;
  const pid_t process = fork();
  if (process < 0) fail("cannot start a process");
  if (process == 0) execute(launch, parent, trouble.second.number());
  // The command does the same; whoever comes first, nobody can miss the group.
  setpgid(process, process);
  return {process, std::move(trouble.first)};
}

}  // namespace idem::tool
