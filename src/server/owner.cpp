#include "server/owner.hpp"

#include "server/prelude.hpp"

namespace idem::server {

Oid owner_of(Oid relation) {
  HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
  if (!HeapTupleIsValid(tuple)) return InvalidOid;
  const Oid owner = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple))->relowner;
  ReleaseSysCache(tuple);
  return owner;
}

void run_as_owner(Oid owner, void (*call)(void *), void *argument) {
  Oid caller;
  int context;
  GetUserIdAndSecContext(&caller, &context);
  SetUserIdAndSecContext(owner, context | SECURITY_LOCAL_USERID_CHANGE |
                                    SECURITY_RESTRICTED_OPERATION | SECURITY_NOFORCE_RLS);
  const int level = NewGUCNestLevel();
  (void)set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
                          GUC_ACTION_SAVE, true, 0, false);
  call(argument);
  AtEOXact_GUC(false, level);
  SetUserIdAndSecContext(caller, context);
}

}  // namespace idem::server
