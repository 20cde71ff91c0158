#include "machines/store.hpp"

#include "server/objects.hpp"
#include "server/owner.hpp"
#include "server/prelude.hpp"

namespace idem::machines {

namespace {

server::Statement newest_statement = {
    "SELECT version, diagram FROM @idem_machines WHERE name OPERATOR(pg_catalog.=) $1"
    " ORDER BY version DESC LIMIT 1",
    1,
    {TEXTOID}};

server::Statement version_statement = {
    "SELECT version, diagram FROM @idem_machines WHERE name OPERATOR(pg_catalog.=) $1"
    " AND version OPERATOR(pg_catalog.=) $2",
    2,
    {TEXTOID, INT4OID}};

server::Statement write_statement = {
    "INSERT INTO @idem_machines (name, version, diagram, defined_at, defined_by)"
    " VALUES ($1, $2, $3, pg_catalog.clock_timestamp(), $4)",
    4,
    {TEXTOID, INT4OID, TEXTOID, NAMEOID}};

// Classes of their own among advisory locks: SQL uses 1 and 2.
constexpr uint16 kOneMachine = 0x1DE;
constexpr uint16 kAllMachines = 0x1DF;

void lock(const Place &place, uint32 key, uint16 kind, LOCKMODE mode) {
  LOCKTAG tag;
  SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, place.machines, key, kind);
  (void)LockAcquire(&tag, mode, false, false);
  AcceptInvalidationMessages();
}

Oid owner_of_function(Oid function) {
  HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
  if (!HeapTupleIsValid(tuple)) elog(ERROR, "cache lookup failed for function %u", function);
  const Oid owner = reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple))->proowner;
  ReleaseSysCache(tuple);
  return owner;
}

}  // namespace

Place place_of(Oid function) {
  Place place = {};
  place.home.schema = get_func_namespace(function);
  place.machines = server::relation_named("idem_machines", place.home.schema);
  place.history_ids = server::relation_named("idem_history_ids", place.home.schema);
  place.home.owner = server::owner_of(place.machines);
  place.code_owner = owner_of_function(function);
  return place;
}

StoredMachine read_machine(const Place &place, const char *name, int version) {
  const MemoryContext caller = CurrentMemoryContext;
  StoredMachine found = {};
  Datum values[] = {CStringGetTextDatum(name), Int32GetDatum(version)};
  server::Statement &statement = version == 0 ? newest_statement : version_statement;
  SPI_connect();
  PushActiveSnapshot(GetLatestSnapshot());
  if (server::run(statement, place.home, values, nullptr, true, 1) == 1) {
    bool isnull;
    const HeapTuple row = SPI_tuptable->vals[0];
    found.version = DatumGetInt32(SPI_getbinval(row, SPI_tuptable->tupdesc, 1, &isnull));
    const Datum diagram = SPI_getbinval(row, SPI_tuptable->tupdesc, 2, &isnull);
    const MemoryContext inner = MemoryContextSwitchTo(caller);
    found.diagram = DatumGetTextPCopy(diagram);
    MemoryContextSwitchTo(inner);
  }
  PopActiveSnapshot();
  SPI_finish();
  return found;
}

void lock_machine(const Place &place, const char *name, LOCKMODE mode) {
  const auto *bytes = reinterpret_cast<const unsigned char *>(name);
  lock(place, DatumGetUInt32(hash_any(bytes, static_cast<int>(strlen(name)))), kOneMachine, mode);
}

void lock_all_machines(const Place &place, LOCKMODE mode) {
  lock(place, 0, kAllMachines, mode);
}

void write_machine(const Place &place, const char *name, int version, const text *diagram) {
  NameData definer;
  namestrcpy(&definer, GetUserNameFromId(GetUserId(), false));
  Datum values[] = {CStringGetTextDatum(name), Int32GetDatum(version), PointerGetDatum(diagram),
                    NameGetDatum(&definer)};
  (void)server::execute(write_statement, place.home, values, nullptr);
  CacheInvalidateRelcacheByRelid(place.machines);
  CommandCounterIncrement();
}

}  // namespace idem::machines
