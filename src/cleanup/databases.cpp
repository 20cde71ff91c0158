#include "cleanup/databases.hpp"

#include "cleanup/shared.hpp"
#include "server/compat.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

namespace {

// Marks a database whose DROP was interrupted; has no name in older minor releases.
constexpr int32 kInvalidDatabase = -2;

// Where the owner may not log in, the worker has to be somebody else.
Oid role_for(Oid owner) {
  if (!server::kWorkersNeedLogin) return owner;
  HeapTuple tuple = SearchSysCache1(AUTHOID, ObjectIdGetDatum(owner));
  if (!HeapTupleIsValid(tuple)) return InvalidOid;
  const bool may_log_in = reinterpret_cast<Form_pg_authid>(GETSTRUCT(tuple))->rolcanlogin;
  ReleaseSysCache(tuple);
  return may_log_in ? owner : InvalidOid;
}

bool is_served(const FormData_pg_database *form) {
  return !form->datistemplate && form->datallowconn && form->datconnlimit != kInvalidDatabase;
}

}  // namespace

List *list_databases() {
  const MemoryContext caller = CurrentMemoryContext;
  List *databases = NIL;
  StartTransactionCommand();
  (void)GetTransactionSnapshot();
  Relation catalog = table_open(DatabaseRelationId, AccessShareLock);
  TableScanDesc scan = table_beginscan_catalog(catalog, 0, nullptr);
  for (HeapTuple tuple; HeapTupleIsValid(tuple = heap_getnext(scan, ForwardScanDirection));) {
    const auto *form = reinterpret_cast<Form_pg_database>(GETSTRUCT(tuple));
    if (!is_served(form)) continue;
    const Oid role = role_for(form->datdba);
    const MemoryContext transaction = MemoryContextSwitchTo(caller);
    auto *database = static_cast<Database *>(palloc(sizeof(Database)));
    database->oid = form->oid;
    database->role = role;
    strlcpy(database->name, NameStr(form->datname), NAMEDATALEN);
    databases = lappend(databases, database);
    MemoryContextSwitchTo(transaction);
  }
  table_endscan(scan);
  table_close(catalog, AccessShareLock);
  CommitTransactionCommand();
  MemoryContextSwitchTo(caller);
  return databases;
}

void forget_dropped_databases(const List *databases) {
  List *oids = NIL;
  ListCell *cell;
  foreach (cell, databases) oids = lappend_oid(oids, static_cast<Database *>(lfirst(cell))->oid);
  keep_databases(oids);
}

}  // namespace idem::cleanup
