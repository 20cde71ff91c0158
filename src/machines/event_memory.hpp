// Event ids: what each did is kept as an idempotency record, and told to whoever repeats it.

#pragma once

#include "machines/attachment.hpp"
#include "server/prelude.hpp"

namespace idem::machines {

// An event as its sender names it.
struct EventId {
  const Attachment *attachment;
  const Jsonb *key;  // of the row
  const text *id;
  const char *event;
  const Jsonb *data;  // or null
};

// The record that stands for it.
struct Memory {
  server::Home home;
  const text *id;
  Datum key;          // text
  Datum fingerprint;  // bytea, of the event and its data
};

// Raises ID400 for an id that is too short or too long.
Memory memory_of(const EventId &event);

// What the event did (jsonb), or null: it is not known yet. Takes no lock. Raises ID007 when the id
// was used for another event or other data.
const Jsonb *recall(const Memory &memory);

// The same, and claims the id when it is not known, for this transaction to keep what it does. Hold
// the lock of the row: whoever else fires the event has waited for that already.
const Jsonb *claim(const Memory &memory, std::int64_t *token);

// Keeps what the event did, under the claim's token.
void keep(const Memory &memory, std::int64_t token, const Jsonb *result);

}  // namespace idem::machines
