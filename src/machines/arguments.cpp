#include "machines/arguments.hpp"

#include "machines/definition.hpp"
#include "server/arguments.hpp"
#include "server/compat.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace idem::machines {

const char *machine_argument(FunctionCallInfo fcinfo, int number) {
  const text *name = server::limited_text(fcinfo, number, "machine", kMaxNameBytes);
  return name == nullptr ? nullptr : text_to_cstring(name);
}

const char *required_machine(FunctionCallInfo fcinfo, int number, const char *what) {
  return text_to_cstring(server::required_text(fcinfo, number, what, kMaxNameBytes));
}

int version_argument(FunctionCallInfo fcinfo, int number) {
  if (PG_ARGISNULL(number)) return 0;
  const int version = PG_GETARG_INT32(number);
  if (version >= 1) return version;
  ereport(ERROR, (errcode(server::errcode_of(sqlstate::kBadArgument)),
                  errmsg("version must be positive, not %d", version),
                  errhint("Leave it out for the newest version.")));
  pg_unreachable();
}

namespace {

Oid table_argument(FunctionCallInfo fcinfo, int number) {
  if (PG_ARGISNULL(number) || get_rel_name(PG_GETARG_OID(number)) == nullptr)
    ereport(ERROR, (errcode(server::errcode_of(sqlstate::kBadArgument)),
                    errmsg("rel must be a table"), errhint("Pass for example 'public.orders'.")));
  return PG_GETARG_OID(number);
}

void require_owner(Oid table) {
  if (!server::owns_table(GetUserId(), table))
    aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(table)),
                   get_rel_name(table));
}

}  // namespace

Relation open_table(FunctionCallInfo fcinfo, int number, LOCKMODE mode, AclMode privilege) {
  const Oid table = table_argument(fcinfo, number);
  if (pg_class_aclcheck(table, GetUserId(), privilege) != ACLCHECK_OK &&
      pg_attribute_aclcheck_all(table, GetUserId(), privilege, ACLMASK_ANY) != ACLCHECK_OK)
    aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(get_rel_relkind(table)),
                   get_rel_name(table));
  return relation_open(table, mode);
}

Relation open_owned_table(FunctionCallInfo fcinfo, int number, LOCKMODE mode) {
  require_owner(table_argument(fcinfo, number));
  Relation relation = relation_open(table_argument(fcinfo, number), mode);
  // It may have been given away before it could be locked.
  require_owner(RelationGetRelid(relation));
  return relation;
}

Jsonb *required_key(FunctionCallInfo fcinfo, int number) {
  if (PG_ARGISNULL(number))
    ereport(ERROR,
            (errcode(server::errcode_of(sqlstate::kBadArgument)), errmsg("key must not be null"),
             errhint("Pass the row's primary key, such as '42' or '{\"id\": 42}'.")));
  return PG_GETARG_JSONB_P(number);
}

const char *column_argument(FunctionCallInfo fcinfo, int number) {
  return PG_ARGISNULL(number) ? nullptr : pstrdup(NameStr(*PG_GETARG_NAME(number)));
}

const char *required_column_name(FunctionCallInfo fcinfo, int number) {
  const char *name = column_argument(fcinfo, number);
  if (name == nullptr)
    ereport(ERROR, (errcode(server::errcode_of(sqlstate::kBadArgument)),
                    errmsg("col must not be null"), errhint("Pass the column with the status.")));
  return name;
}

}  // namespace idem::machines
