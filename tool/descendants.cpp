#include "tool/descendants.hpp"

#include <dirent.h>
#include <csignal>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

namespace idem::tool {

namespace {

struct Process {
  pid_t id = 0;
  pid_t parent = 0;
  char state = 'Z';
};

// From /proc/ID/stat: "ID (NAME) STATE PARENT …", where the name may hold anything.
Process read_process(const std::string &id) {
  std::ifstream file("/proc/" + id + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(") ");
  if (name_end == std::string::npos) return {};
  const std::string rest = line.substr(name_end + 2);
  if (rest.size() < 3) return {};
  return {static_cast<pid_t>(std::strtol(id.c_str(), nullptr, 10)),
          static_cast<pid_t>(std::strtol(rest.c_str() + 2, nullptr, 10)), rest[0]};
}

std::multimap<pid_t, pid_t> children_by_parent() {
  std::multimap<pid_t, pid_t> children;
  DIR *directory = opendir("/proc");
  if (!directory) return children;
  while (const dirent *entry = readdir(directory)) {
    const std::string name = entry->d_name;
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const Process process = read_process(name);
    if (process.id > 0 && process.state != 'Z' && process.state != 'X')
      children.emplace(process.parent, process.id);
  }
  closedir(directory);
  return children;
}

}  // namespace

void adopt_orphans() {
#ifdef __linux__
  prctl(PR_SET_CHILD_SUBREAPER, 1);
#endif
}

std::vector<pid_t> descendants_of(pid_t ancestor) {
  const auto children = children_by_parent();
  std::vector<pid_t> found = {ancestor};
  for (std::size_t i = 0; i < found.size(); i++) {
    const auto [first, last] = children.equal_range(found[i]);
    for (auto child = first; child != last; ++child) found.push_back(child->second);
  }
  found.erase(found.begin());
  return found;
}

// They are stopped first, so that none forks a new one between the look and the kill.
bool kill_descendants(pid_t ancestor, pid_t except) {
  bool any = false;
  for (const int signal : {SIGSTOP, SIGKILL})
    for (const pid_t process : descendants_of(ancestor))
      any |= process != except && kill(process, signal) == 0;
  return any;
}

}  // namespace idem::tool
