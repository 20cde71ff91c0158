#include "machines/editions.hpp"

#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace idem::machines {

namespace {

struct Key {
  Oid machines;
  int version;
  char name[kMaxNameBytes + 1];
};

struct Cached {
  Key key;
  MemoryContext context;
  const Edition *edition;
  uint64 generation;
};

HTAB *cache = nullptr;
MemoryContext home = nullptr;
uint64 generation = 1;
// Set before its rows are read, so that no change is missed.
Oid watched = InvalidOid;

void on_relation_change(Datum, Oid relation) {
  if (!OidIsValid(relation) || relation == watched) generation++;
}

void prepare_cache() {
  if (cache != nullptr) return;
  if (home == nullptr) {
    home = AllocSetContextCreate(CacheMemoryContext, "pg_idem machines", ALLOCSET_SMALL_SIZES);
    CacheRegisterRelcacheCallback(on_relation_change, Datum{0});
  }
  HASHCTL control = {};
  control.keysize = sizeof(Key);
  control.entrysize = sizeof(Cached);
  control.hcxt = home;
  cache = hash_create("pg_idem machines", 16, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

Key key_of(const Place &place, const char *name, int version) {
  Key key = {};
  key.machines = place.machines;
  key.version = version;
  strlcpy(key.name, name, sizeof(key.name));
  return key;
}

const Machine *compiled(std::string_view diagram, MemoryContext context) {
  const Definition definition = read_diagram(diagram);
  const std::size_t size = compiled_size(definition);
  void *block = server::inward([context, size] { return MemoryContextAlloc(context, size); });
  return compile(definition, block);
}

// In a context of its own below CurrentMemoryContext, where it goes with the caller's error. Null
// when it is missing.
const Edition *load(const Place &place, const Key &key, MemoryContext *context) {
  const StoredMachine stored = read_machine(place, key.name, key.version);
  if (stored.version == 0) return nullptr;
  *context = AllocSetContextCreate(CurrentMemoryContext, "pg_idem machine", ALLOCSET_SMALL_SIZES);
  const MemoryContext caller = MemoryContextSwitchTo(*context);
  const Edition *edition = compile_edition(key.name, stored.version, stored.diagram);
  MemoryContextSwitchTo(caller);
  return edition;
}

// Somebody further up the stack may be judging with it.
void retire(Cached *cached) {
  if (cached->context != nullptr) MemoryContextSetParent(cached->context, TopTransactionContext);
  cached->context = nullptr;
}

}  // namespace

void refuse_missing(const char *name, int version, bool newest) {
  ereport(ERROR,
          (errcode(server::errcode_of(sqlstate::kNoMachine)),
           newest ? errmsg("state machine \"%s\" is not defined", name)
                  : errmsg("state machine \"%s\" has no version %d", name, version),
           errhint("Define it with idem_machine_define. A restore of the schema alone leaves the "
                   "table idem_machines empty: restore its rows too.")));
  pg_unreachable();
}

const Edition *compile_edition(const char *name, int version, const text *diagram) {
  auto *edition = static_cast<Edition *>(palloc(sizeof(Edition)));
  edition->name = pstrdup(name);
  edition->version = version;
  edition->machine = compiled(server::view_of(diagram), CurrentMemoryContext);
  return edition;
}

const Edition *find_edition(const Place &place, const char *name, int version) {
  if (strlen(name) > kMaxNameBytes) return nullptr;
  prepare_cache();
  const Key key = key_of(place, name, version);
  auto *cached = static_cast<Cached *>(hash_search(cache, &key, HASH_FIND, nullptr));
  if (cached != nullptr && cached->generation == generation) return cached->edition;

  watched = place.machines;
  const uint64 read_at = generation;
  MemoryContext context;
  const Edition *edition = load(place, key, &context);
  if (edition == nullptr) return nullptr;
  bool found;
  cached = static_cast<Cached *>(hash_search(cache, &key, HASH_ENTER, &found));
  if (!found) cached->context = nullptr;
  retire(cached);
  MemoryContextSetParent(context, home);
  cached->context = context;
  cached->edition = edition;
  cached->generation = read_at;
  return edition;
}

const Edition *edition_of(const Place &place, const char *name, int version) {
  const Edition *edition = find_edition(place, name, version);
  if (edition == nullptr) refuse_missing(name, version, version == 0);
  return edition;
}

bool is_known(const Known &known, std::string_view name, int version) {
  return known.generation == generation && known.version == version && name == known.edition->name;
}

const Edition *look_up(const Place &place, const char *name, int version, Known *known) {
  const uint64 before = generation;
  const Edition *edition = edition_of(place, name, version);
  *known = {edition, version, before};
  return edition;
}

namespace {

// What statements of this transaction met. Few are under way at once: a statement, and those of the
// triggers that it fires.
struct Met {
  FullTransactionId transaction;
  CommandId command;
  const Edition *edition;
};
constexpr int kMet = 64;
Met met[kMet];
int next_met = 0;

const Edition *met_by(FullTransactionId transaction, CommandId command, const char *name) {
  for (const Met &one : met) {
    if (one.edition == nullptr || one.command != command) continue;
    if (!FullTransactionIdEquals(one.transaction, transaction)) continue;
    if (strcmp(one.edition->name, name) == 0) return one.edition;
  }
  return nullptr;
}

}  // namespace

const Edition *edition_for_command(const Place &place, const char *name, int version,
                                   CommandId command) {
  if (version != 0) return edition_of(place, name, version);
  if (command == InvalidCommandId) {
    AcceptInvalidationMessages();
    return edition_of(place, name, 0);
  }
  const FullTransactionId transaction = GetTopFullTransactionId();
  const Edition *edition = met_by(transaction, command, name);
  if (edition != nullptr) return edition;
  AcceptInvalidationMessages();
  edition = edition_of(place, name, 0);
  met[next_met] = {transaction, command, edition};
  next_met = (next_met + 1) % kMet;
  return edition;
}

}  // namespace idem::machines
