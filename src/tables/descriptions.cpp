#include "tables/descriptions.hpp"

#include "server/prelude.hpp"

namespace idem::tables {

namespace {

struct Entry {
  Oid trigger;
  Oid relation;
  Oid other;
  bool valid;
  const void *description;
  MemoryContext context;
};

// Every kind that is in use: the server has room for a few callbacks only.
Descriptions *kinds = nullptr;

void end_descriptions(Descriptions &kept, Oid relation) {
  kept.changes++;
  HASH_SEQ_STATUS scan;
  hash_seq_init(&scan, kept.entries);
  for (void *found; (found = hash_seq_search(&scan)) != nullptr;) {
    auto *entry = static_cast<Entry *>(found);
    if (!OidIsValid(relation) || entry->relation == relation || entry->other == relation)
      entry->valid = false;
  }
}

void on_relation_change(Datum, Oid relation) {
  for (Descriptions *kept = kinds; kept != nullptr; kept = kept->next)
    end_descriptions(*kept, relation);
}

void prepare(Descriptions &kept) {
  if (kept.entries != nullptr) return;
  HASHCTL control = {};
  control.keysize = sizeof(Oid);
  control.entrysize = sizeof(Entry);
  control.hcxt = CacheMemoryContext;
  kept.entries = hash_create(kept.name, 16, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
  if (kinds == nullptr) CacheRegisterRelcacheCallback(on_relation_change, Datum{0});
  kept.next = kinds;
  kinds = &kept;
}

// Somebody further up the stack may be at work with it.
void retire(Entry *entry) {
  if (entry->context != nullptr) MemoryContextSetParent(entry->context, TopTransactionContext);
  entry->context = nullptr;
}

// Of triggers that were dropped, no doubt: others are soon described again.
void forget_invalid(Descriptions &kept) {
  HASH_SEQ_STATUS scan;
  hash_seq_init(&scan, kept.entries);
  for (void *found; (found = hash_seq_search(&scan)) != nullptr;) {
    auto *entry = static_cast<Entry *>(found);
    if (entry->valid) continue;
    retire(entry);
    (void)hash_search(kept.entries, &entry->trigger, HASH_REMOVE, nullptr);
  }
}

// An error may leave an entry behind that is not valid, and has nothing in it.
Entry *entry_for(Descriptions &kept, Oid trigger, Oid relation) {
  prepare(kept);
  bool found = hash_search(kept.entries, &trigger, HASH_FIND, nullptr) != nullptr;
  if (!found) forget_invalid(kept);
  auto *entry = static_cast<Entry *>(hash_search(kept.entries, &trigger, HASH_ENTER, &found));
  if (!found) *entry = {trigger, relation, InvalidOid, false, nullptr, nullptr};
  return entry;
}

}  // namespace

const void *description_of(Descriptions &kept, Relation relation, const Trigger &trigger) {
  const Oid oid = trigger.tgoid;
  Entry *entry = entry_for(kept, oid, RelationGetRelid(relation));
  if (entry->valid) return entry->description;
  retire(entry);
  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "pg_idem description", ALLOCSET_SMALL_SIZES);
  const MemoryContext caller = MemoryContextSwitchTo(context);
  const uint64 before = kept.changes;
  Oid other = InvalidOid;
  const void *description = kept.describe(relation, trigger, &other);
  MemoryContextSwitchTo(caller);
  MemoryContextSetParent(context, CacheMemoryContext);
  entry->other = other;
  entry->description = description;
  entry->context = context;
  entry->valid = kept.changes == before;
  return description;
}

void forget_descriptions(Descriptions &kept) {
  if (kept.entries != nullptr) end_descriptions(kept, InvalidOid);
}

}  // namespace idem::tables
