#include "tool/messages.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <type_traits>

namespace idem::tool {

static_assert(std::is_trivially_copyable_v<Message>);

bool send_message(int socket, const Message &message) {
  return send(socket, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(sizeof message);
}

// A message is sent in one piece, so its rest is there when its beginning is.
Received receive_message(int socket, Message &message) {
  const ssize_t length = recv(socket, &message, sizeof message, MSG_DONTWAIT);
  if (length == static_cast<ssize_t>(sizeof message)) return Received::message;
  if (length < 0 && (errno == EAGAIN || errno == EINTR)) return Received::nothing;
  return Received::closed;
}

}  // namespace idem::tool
