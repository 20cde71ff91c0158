#include "locks/known_names.hpp"

#include "locks/manager.hpp"
#include "locks/registry.hpp"
#include "locks/settings.hpp"
#include "server/advisory.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace idem::locks {

namespace {

constexpr long kExpectedNames = 16;

HTAB *names = nullptr;
// Set when a (sub)transaction ends, for the moment when its locks are gone.
bool review_due = false;

std::uint64_t hash_of(const LockName &name) {
  const auto *bytes = reinterpret_cast<const unsigned char *>(name.bytes);
  return DatumGetUInt64(hash_any_extended(bytes, static_cast<int>(name.length), 0));
}

void forget(KnownName *known) {
  if (registry_available()) stop_referring(known->name);
  (void)hash_search(names, &known->name, HASH_REMOVE, nullptr);
}

// Calls visit(known), which may forget that name and must not raise.
template <typename Visit>
void visit_all(Visit visit) {
  if (names == nullptr || hash_get_num_entries(names) == 0) return;
  HASH_SEQ_STATUS scan;
  hash_seq_init(&scan, names);
  while (auto *known = static_cast<KnownName *>(hash_seq_search(&scan))) visit(known);
}

bool any_held_by_transaction() {
  bool any = false;
  visit_all([&any](KnownName *known) { any = any || holds(tag_of(*known), Kind::transaction); });
  return any;
}

// A prepared transaction keeps its locks, but belongs to no session that could refer to their
// names.
void refuse_prepare() {
  if (any_held_by_transaction())
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("cannot PREPARE a transaction that holds a lock of idem_xact_lock"),
                    errhint("Take the lock with idem_session_lock, or commit in one phase.")));
}

void at_transaction_end(XactEvent event, void *) {
  if (event == XACT_EVENT_PRE_PREPARE) refuse_prepare();
  if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
    review_due = true;
}

void at_subtransaction_end(SubXactEvent event, SubTransactionId, SubTransactionId, void *) {
  if (event == SUBXACT_EVENT_ABORT_SUB) review_due = true;
}

// Not earlier: a name that somebody still holds must keep its number.
void after_release(ResourceReleasePhase phase, bool, bool, void *) {
  if (phase != RESOURCE_RELEASE_AFTER_LOCKS || !review_due) return;
  review_due = false;
  visit_all([](KnownName *known) {
    if (!holds_any(tag_of(*known))) forget(known);
  });
}

// The server has rolled back and let go of all locks before it runs callbacks of this kind.
void at_exit(int, Datum) {
  visit_all([](KnownName *known) { forget(known); });
}

void prepare() {
  if (names != nullptr) return;
  HASHCTL control = {};
  control.keysize = sizeof(LockName);
  control.entrysize = sizeof(KnownName);
  HTAB *made =
      hash_create("pg_idem known lock names", kExpectedNames, &control, HASH_ELEM | HASH_BLOBS);
  RegisterXactCallback(at_transaction_end, nullptr);
  RegisterSubXactCallback(at_subtransaction_end, nullptr);
  RegisterResourceReleaseCallback(after_release, nullptr);
  on_shmem_exit(at_exit, Datum{0});
  names = made;
}

[[noreturn]] void refuse_name(const LockName &name) {
  ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY),
                  errmsg("no room for one more name of a lock: \"%s\"", cstring_of(name)),
                  errdetail("All %d places are taken by names that sessions hold or wait for.",
                            settings.max_session_locks),
                  errhint("Raise idem.max_session_locks, which takes a restart of the server.")));
  pg_unreachable();
}

}  // namespace

KnownName *know(const LockName &name) {
  prepare();
  bool found;
  auto *known = static_cast<KnownName *>(hash_search(names, &name, HASH_ENTER, &found));
  if (found) return known;
  known->has_token = false;
  known->token = 0;
  known->acquired_at = 0;
  if (!registry_available()) {
    known->number = hash_of(name);
  } else if (!refer(name, &known->number)) {
    (void)hash_search(names, &name, HASH_REMOVE, nullptr);
    refuse_name(name);
  }
  return known;
}

KnownName *find_known(const LockName &name) {
  if (names == nullptr) return nullptr;
  return static_cast<KnownName *>(hash_search(names, &name, HASH_FIND, nullptr));
}

LOCKTAG tag_of(const KnownName &known) {
  return server::advisory_tag(known.number, registry_available() ? kRegisteredClass : kHashedClass);
}

void forget_unless_held(const LockName &name) {
  KnownName *known = find_known(name);
  if (known != nullptr && !holds_any(tag_of(*known))) forget(known);
}

const KnownName *known_by_number(std::uint64_t number) {
  const KnownName *found = nullptr;
  visit_all([number, &found](KnownName *known) {
    if (known->number == number) found = known;
  });
  return found;
}

}  // namespace idem::locks
