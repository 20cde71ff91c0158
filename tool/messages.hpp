// What pgidem and its guardian say to each other, over a socket.

#pragma once

#include <cstdint>
#include <optional>

#include "tool/lease.hpp"

namespace idem::tool {

struct Message {
  enum Kind : std::int32_t {
    // to the guardian
    renewed,    // the new deadline is in `deadline`
    forward,    // send signal `number` to the command
    stop,       // the lease is lost
    run_again,  // once more, from the start
    // from the guardian
    started,      // process `number`
    not_started,  // errno is `number`
    stopped,      // by signal `number`
    ended,        // with the status of waitpid in `number`
    told_to_end   // likewise, but the guardian had told it to end
  };

  Kind kind;
  std::int32_t number = 0;
  Deadline deadline = {};
};

// In one piece or not at all; whether it was. Never blocks.
bool send_message(int socket, const Message &message);

enum class Received { message, nothing, closed };
// Does not block either.
Received receive_message(int socket, Message &message);

}  // namespace idem::tool
