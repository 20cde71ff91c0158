#include "tool/descriptor.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "tool/exit_codes.hpp"
#include "tool/failure.hpp"

namespace idem::tool {

void Descriptor::close() {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

Pair make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) fail("cannot make a pipe");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

Pair make_sockets() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("cannot make a socket");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

void set_nonblocking(int descriptor, bool nonblocking) {
  const int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0) return;
  fcntl(descriptor, F_SETFL, nonblocking ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
}

void fail(const char *what) {
  throw Failure(kSystem, std::string(what) + ": " + std::strerror(errno));
}

}  // namespace idem::tool
