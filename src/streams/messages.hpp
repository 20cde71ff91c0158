// Messages told apart by their ids. An id that a stream has seen is an idempotency record in the
// reserved scope idem.message, begun and finished in one go: there is no second table.

#pragma once

#include "records/table.hpp"
#include "server/prelude.hpp"
#include "streams/stream.hpp"

namespace idem::streams {

struct Message {
  const text *stream;
  const text *id;
};

struct MessageTerms {
  const Interval *retain;  // null: as the stream says
  const bytea *hash;       // null: not compared
  NullableDatum result;    // jsonb, told to whoever sends the message again
};

struct MessageAcceptance {
  bool duplicate;
  NullableDatum first_seen;  // timestamptz
  NullableDatum result;      // jsonb, as it was kept
};

// Accepts the message unless its id is known. Waits for the end of a transaction that is accepting
// it, and for nothing else. Raises ID007 when the id was used with another hash, ID413 for a result
// over the scope's limit, ID409 when somebody claimed the record by hand, and 40001 when another
// transaction accepted the message after the snapshot of this one.
MessageAcceptance accept_message(const records::RecordsTable &table, const StreamSettings &settings,
                                 const Message &message, const MessageTerms &terms);

// The bytes of the record's key; more than records::kMaxKeyBytes cannot be accepted.
std::size_t key_size(const Message &message);

// Makes the id unknown again; false when it is.
bool forget_message(const records::RecordsTable &table, const Message &message);

}  // namespace idem::streams
