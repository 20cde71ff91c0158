// What a session knows of a table of the extension: looked up once, and again after anything about
// the table or its key changed.

#pragma once

#include "server/objects.hpp"
#include "server/prelude.hpp"
#include "server/statement.hpp"

namespace idem::server {

// A change of either makes a new generation.
struct Watch {
  Oid table;
  Oid key;
  uint64 generation;
};

// To be called once for each, which must live as long as the session. Raises when the server has no
// room for it.
void start_watching(Watch &watch);

// A Description has `home` and `generation`, and the table's OID where kTable says. One of these is
// a variable of the whole session; copies of a description are good as long as the lock is held.
template <typename Description, Oid Description::*kTable>
class DescribedTable {
 public:
  // Fills in the rest, of a table that is locked, and returns its key. May raise.
  using Describe = Oid (*)(Description &description);

  constexpr DescribedTable(const char *name, Describe describe)
      : name_(name), describe_(describe) {}

  // The one beside the function that is being called. Locked only if it has to be described anew.
  Description beside(Oid function) {
    if (asked_by_ == function && is_newest(cached_)) return cached_;
    const Oid schema = get_func_namespace(function);
    const bool known = cached_.home.schema == schema && is_newest(cached_);
    const Description description = known ? cached_ : look_up(schema, AccessShareLock);
    asked_by_ = function;
    return description;
  }

  // Locks the table until the transaction ends. That keeps everything out that would matter, but
  // something may have come before it: then the table is described anew.
  void lock(Description &description, LOCKMODE mode) {
    LockRelationOid(description.*kTable, mode);
    describe_locked(description, mode);
  }

  // The same unless it would have to wait; then false.
  bool try_lock(Description &description, LOCKMODE mode) {
    if (!ConditionalLockRelationOid(description.*kTable, mode)) return false;
    describe_locked(description, mode);
    return true;
  }

 private:
  bool is_newest(const Description &description) const {
    return description.generation == watch_.generation;
  }

  // What is watched is set before it is read, so that no change is missed.
  Description look_up(Oid schema, LOCKMODE mode) {
    if (!watching_) start_watching(watch_);
    watching_ = true;
    Description description = {};
    description.home.schema = schema;
    description.*kTable = lock_named(name_, schema, mode, &watch_.table);
    description.generation = watch_.generation;
    watch_.key = describe_(description);
    cached_ = description;
    return description;
  }

  void describe_locked(Description &description, LOCKMODE mode) {
    const bool newest = description.home.newest;
    while (!is_newest(description)) {
      UnlockRelationOid(description.*kTable, mode);
      description = look_up(description.home.schema, mode);
    }
    description.home.newest = newest;
  }

  const char *name_;
  Describe describe_;
  // Valid while its generation is the present one.
  Description cached_ = {};
  // The function that asked last, to spare the next call a look-up of its schema.
  Oid asked_by_ = InvalidOid;
  Watch watch_ = {InvalidOid, InvalidOid, 1};
  bool watching_ = false;
};

}  // namespace idem::server
