#include "cleanup/premises.hpp"

#include "server/owner.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

namespace {

server::Statement paused_statement = {"SELECT FROM @idem_cleanup_paused", 0, {}};

bool lock_at_once(const LOCKTAG &tag, LOCKMODE mode) {
  if (LockAcquire(&tag, mode, false, true) == LOCKACQUIRE_NOT_AVAIL) return false;
  // Whoever held it before may have changed what it stands for.
  AcceptInvalidationMessages();
  return true;
}

// Whoever wants the database for himself holds a lock that sessions wait for when they connect.
// Given back at once: he then waits for us to leave, or ends us, and may do so while a trigger
// runs.
bool is_wanted() {
  LOCKTAG tag;
  SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, MyDatabaseId, 0);
  if (!lock_at_once(tag, RowExclusiveLock)) return true;
  LockRelease(&tag, RowExclusiveLock, false);
  return false;
}

bool lock_object(Oid catalog, Oid object) {
  LOCKTAG tag;
  SET_LOCKTAG_OBJECT(tag, MyDatabaseId, catalog, object, 0);
  return lock_at_once(tag, AccessShareLock);
}

// The server's own function for this is not exported before 17.
Oid schema_of(Oid extension) {
  Relation catalog = table_open(ExtensionRelationId, AccessShareLock);
  ScanKeyData key;
  ScanKeyInit(&key, Anum_pg_extension_oid, BTEqualStrategyNumber, F_OIDEQ,
              ObjectIdGetDatum(extension));
  SysScanDesc scan = systable_beginscan(catalog, ExtensionOidIndexId, true, nullptr, 1, &key);
  HeapTuple tuple = systable_getnext(scan);
  const Oid schema = HeapTupleIsValid(tuple)
                         ? reinterpret_cast<Form_pg_extension>(GETSTRUCT(tuple))->extnamespace
                         : InvalidOid;
  systable_endscan(scan);
  table_close(catalog, AccessShareLock);
  return schema;
}

Premises find(Oid schema) {
  Premises premises = {};
  premises.home.schema = schema;
  premises.records = get_relname_relid("idem_records", schema);
  premises.producers = get_relname_relid("idem_producers", schema);
  premises.archive = get_relname_relid("idem_archive", schema);
  premises.expiries = get_relname_relid("idem_expiries", schema);
  premises.paused = get_relname_relid("idem_cleanup_paused", schema);
  premises.scopes = get_relname_relid("idem_scopes", schema);
  return premises;
}

// What every batch reads, or may. DROP OWNED locks tables before the extension, and would deadlock
// with whoever holds the extension and waits for a table.
bool lock_tables(const Premises &premises) {
  return ConditionalLockRelationOid(premises.expiries, AccessShareLock) &&
         ConditionalLockRelationOid(premises.scopes, AccessShareLock);
}

bool complete(const Premises &premises) {
  return OidIsValid(premises.records) && OidIsValid(premises.producers) &&
         OidIsValid(premises.archive) && OidIsValid(premises.expiries) &&
         OidIsValid(premises.paused) && OidIsValid(premises.scopes);
}

}  // namespace

Entry enter(Premises *premises) {
  if (is_wanted()) return Entry::database_busy;
  const Oid extension = get_extension_oid("pg_idem", true);
  if (!OidIsValid(extension)) return Entry::no_extension;
  if (!lock_object(ExtensionRelationId, extension)) return Entry::extension_busy;
  // Looked up again: it may have been dropped before it could be locked.
  if (get_extension_oid("pg_idem", true) != extension) return Entry::extension_busy;
  const Oid schema = schema_of(extension);
  // DROP SCHEMA locks it first, and then all that is in it before it comes to the extension.
  if (!lock_object(NamespaceRelationId, schema)) return Entry::extension_busy;
  *premises = find(schema);
  if (!complete(*premises)) return Entry::other_version;
  if (!lock_tables(*premises)) return Entry::extension_busy;
  premises->home.owner = server::owner_of(premises->expiries);
  // Held by whoever is about to pause; reads do not mind.
  if (!ConditionalLockRelationOid(premises->paused, RowShareLock)) return Entry::paused;
  return is_paused(*premises) ? Entry::paused : Entry::open;
}

void stop_batches(const Premises &premises) {
  LockRelationOid(premises.paused, ExclusiveLock);
}

Premises premises_of(FunctionCallInfo fcinfo) {
  Premises premises = find(get_func_namespace(fcinfo->flinfo->fn_oid));
  if (!complete(premises))
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("a table of pg_idem does not exist"),
                    errhint("Restore it, or re-create the extension.")));
  premises.home.owner = server::owner_of(premises.expiries);
  return premises;
}

bool is_paused(const Premises &premises) {
  SPI_connect();
  const bool paused = server::run(paused_statement, premises.home, nullptr, nullptr, false, 1) > 0;
  SPI_finish();
  return paused;
}

}  // namespace idem::cleanup
