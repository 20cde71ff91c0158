#include "cleanup/run.hpp"

#include "cleanup/batch.hpp"
#include "cleanup/leaf.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

namespace {

constexpr std::int64_t kMostAddresses = 100000;

Addresses addresses_for(std::int64_t rows) {
  Addresses addresses = {};
  addresses.room = static_cast<int>(Min(rows, kMostAddresses));
  addresses.tids = static_cast<ItemPointerData *>(
      palloc(sizeof(ItemPointerData) * static_cast<Size>(addresses.room)));
  return addresses;
}

// A table before its attachment, as in attaching, and as in a migration that alters and detaches
// it.
void lock_leaves(const Rule &rule) {
  LockRelationOid(rule.table, AccessShareLock);
  ListCell *cell;
  foreach (cell, leaves_of(rule)) LockRelationOid(lfirst_oid(cell), RowExclusiveLock);
}

}  // namespace

Run run_leaf(const Premises &premises, const Rule &rule, Oid relation, std::int64_t limit) {
  Run run = {0, false};
  Leaf leaf;
  if (open_leaf(rule, relation, LeafUse::expire, &leaf) != Opening::open) return run;
  const TimestampTz now = GetCurrentTimestamp();
  Cursor cursor = {};
  do {
    // With no room left it still has to be known whether there is more.
    Addresses addresses = addresses_for(limit - run.rows);
    find_expired(leaf, now, &cursor, &addresses);
    if (addresses.count > 0)
      run.rows += expire(premises, leaf, now, addresses.tids, addresses.count);
    run.more = !addresses.complete;
    pfree(addresses.tids);
  } while (run.more && run.rows < limit);
  return run;
}

Run run_table(const Premises &premises, const Rule &rule, std::int64_t limit) {
  Run run = {0, false};
  lock_leaves(rule);
  Rule held;
  if (!hold_rule(premises, rule.table, &held)) return run;
  ListCell *cell;
  foreach (cell, leaves_of(held)) {
    const Run leaf = run_leaf(premises, held, lfirst_oid(cell), limit - run.rows);
    run.rows += leaf.rows;
    run.more = run.more || leaf.more;
  }
  return run;
}

}  // namespace idem::cleanup
