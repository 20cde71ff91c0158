// idem_lock_entries: who holds our locks in the lock manager, or waits for them.

#include <algorithm>

#include "locks/known_names.hpp"
#include "locks/manager.hpp"
#include "locks/registry.hpp"
#include "records/queue.hpp"
#include "server/advisory.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "server/rows.hpp"

namespace {

using idem::locks::Kind;
using idem::locks::RegisteredNames;

struct Entry {
  const char *kind;
  std::uint64_t number;
  int pid;
  bool granted;
  const text *name;                   // null: not known
  const idem::locks::Holder *holder;  // null: not known
};

void add(const idem::server::Rows &rows, const Entry &entry) {
  const auto *holder = entry.holder;
  Datum values[] = {CStringGetTextDatum(entry.kind),
                    Int64GetDatum(static_cast<int64>(entry.number)),
                    PointerGetDatum(entry.name),
                    Int32GetDatum(entry.pid),
                    BoolGetDatum(entry.granted),
                    Int64GetDatum(holder != nullptr ? holder->token : 0),
                    TimestampTzGetDatum(holder != nullptr ? holder->acquired_at : 0)};
  bool nulls[] = {false,
                  false,
                  entry.name == nullptr,
                  false,
                  false,
                  holder == nullptr || !holder->has_token,
                  holder == nullptr};
  rows.add(values, nulls);
}

// Without the registry a session knows the names and tokens of its own locks only.
void describe_from_session(Entry &entry, idem::locks::Holder *own) {
  const auto *known = idem::locks::known_by_number(entry.number);
  if (entry.pid != MyProcPid || known == nullptr) return;
  entry.name = text_of(known->name);
  *own = {MyProcPid, known->has_token, known->token, known->acquired_at, {}};
  if (entry.granted) entry.holder = own;
}

// False when the lock was released meanwhile.
bool describe_from_registry(Entry &entry, const RegisteredNames &all) {
  const auto *end = all.names + all.count;
  const auto *found = std::lower_bound(
      all.names, end, entry.number,
      [](const auto &registered, std::uint64_t number) { return registered.serial < number; });
  if (found == end || found->serial != entry.number) return false;
  entry.name = text_of(found->name);
  if (entry.granted && found->holder.pid == entry.pid) entry.holder = &found->holder;
  return true;
}

void add_entry(const idem::server::Rows &rows, const RegisteredNames &all, Entry entry) {
  idem::locks::Holder own;
  if (!idem::locks::registry_available())
    describe_from_session(entry, &own);
  else if (!describe_from_registry(entry, all))
    return;
  add(rows, entry);
}

// A session may hold a lock in both ways at once.
void add_lock(const idem::server::Rows &rows, const RegisteredNames &all,
              const LockInstanceData &lock) {
  const std::uint64_t number = idem::server::number_of(lock.locktag);
  if (lock.locktag.locktag_field4 == idem::records::kLineClass) {
    add(rows, {"queue", number, lock.pid, lock.holdMask != 0, nullptr, nullptr});
    return;
  }
  for (const Kind kind : {Kind::session, Kind::transaction}) {
    const LOCKMODE mode = idem::locks::mode_of(kind);
    const char *name = kind == Kind::session ? "session" : "transaction";
    if ((lock.holdMask & LOCKBIT_ON(mode)) != 0)
      add_entry(rows, all, {name, number, lock.pid, true, nullptr, nullptr});
    if (lock.waitLockMode == mode)
      add_entry(rows, all, {name, number, lock.pid, false, nullptr, nullptr});
  }
}

bool is_ours(const LOCKTAG &tag) {
  return tag.locktag_type == LOCKTAG_ADVISORY && tag.locktag_field1 == MyDatabaseId &&
         (tag.locktag_field4 == idem::records::kLineClass ||
          tag.locktag_field4 == idem::locks::kHashedClass ||
          tag.locktag_field4 == idem::locks::kRegisteredClass);
}

}  // namespace

IDEM_FUNCTION(idem_lock_entries) {
  const idem::server::Rows rows = idem::server::begin_rows(fcinfo);
  // In this order: a lock has its name from before it is waited for.
  const LockData *locks = GetLockStatusData();
  RegisteredNames all = {nullptr, 0};
  if (idem::locks::registry_available()) all = idem::locks::registered_names();
  for (int i = 0; i < locks->nelements; i++)
    if (is_ours(locks->locks[i].locktag)) add_lock(rows, all, locks->locks[i]);
  return Datum{0};
}
