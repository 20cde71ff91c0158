// What a trigger's arguments and WHEN clause say, read once and kept for the session until
// something about its table changes.

#pragma once

#include "server/prelude.hpp"

namespace idem::tables {

// The triggers of one kind. Give it static storage and constant initialisation.
struct Descriptions {
  const char *name;  // for memory contexts
  // Describes a trigger in the current memory context, or raises an error. The description also
  // ends when something changes about the table that `*other` is set to.
  const void *(*describe)(Relation relation, const Trigger &trigger, Oid *other);
  HTAB *entries = nullptr;
  // Tells whether anything changed while a trigger was described.
  uint64 changes = 0;
  Descriptions *next = nullptr;
};

// Lives until the transaction ends.
const void *description_of(Descriptions &kept, Relation relation, const Trigger &trigger);

// Ends all of a kind, for what else they depend on.
void forget_descriptions(Descriptions &kept);

}  // namespace idem::tables
