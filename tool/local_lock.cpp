#include "tool/local_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tool/exit_codes.hpp"
#include "tool/file_name.hpp"

namespace idem::tool {

namespace {

[[noreturn]] void cannot_create(const std::string &path, const std::string &reason) {
  throw Failure(kCannotCreate, "cannot use " + path + " for a local lock: " + reason);
}

// The same for a user whoever starts pgidem: cron sets no XDG_RUNTIME_DIR, and a lock in another
// place would keep nobody out. Both parents belong to root and let no user remove another's files.
std::string directory_path() {
  const std::string name = "/pgidem-" + std::to_string(geteuid());
  return (access("/run/lock", W_OK | X_OK) == 0 ? "/run/lock" : "/tmp") + name;
}

// Somebody may have put a link, a file or a directory of his own there before us.
Descriptor open_directory(const std::string &path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) cannot_create(path, std::strerror(errno));
  Descriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status = {};
  if (!directory || fstat(directory.number(), &status) != 0)
    cannot_create(path, std::strerror(errno));
  if (status.st_uid != geteuid()) cannot_create(path, "it belongs to somebody else");
  if ((status.st_mode & 077) != 0) cannot_create(path, "others have access to it");
  return directory;
}

}  // namespace

std::optional<Descriptor> take_local_lock(const std::string &name, Duration wait, Asker &asker) {
  const std::string path = directory_path();
  const Descriptor directory = open_directory(path);
  const std::string file = file_name_of(name);
  Descriptor lock(
      openat(directory.number(), file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock) cannot_create(path, std::strerror(errno));
  const TimePoint end = end_of_wait(wait);
  while (flock(lock.number(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) cannot_create(path, std::strerror(errno));
    if (Clock::now() >= end) return std::nullopt;
    asker.pause(std::chrono::milliseconds(50));
  }
  return lock;
}

}  // namespace idem::tool
