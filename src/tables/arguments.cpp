#include "tables/arguments.hpp"

#include "server/compat.hpp"
#include "server/guard.hpp"
#include "server/inheritance.hpp"
#include "server/prelude.hpp"

namespace idem::tables {

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

[[noreturn]] void refuse_relation(Relation relation, const char *what, const char *kind,
                                  const char *hint) {
  ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                  errmsg("%s cannot be attached to %s \"%s\"", what, kind,
                         RelationGetRelationName(relation)),
                  errhint("%s", hint)));
  pg_unreachable();
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

AttrNumber existing_column(Relation relation, const char *name) {
  const AttrNumber column = get_attnum(RelationGetRelid(relation), name);
  if (column <= 0)
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
                    errmsg("column \"%s\" of relation \"%s\" does not exist", name,
                           RelationGetRelationName(relation))));
  return column;
}

void require_attachable(Relation relation, const char *what) {
  switch (relation->rd_rel->relkind) {
    case RELKIND_RELATION:
    case RELKIND_PARTITIONED_TABLE:
      break;
    case RELKIND_VIEW:
      refuse_relation(relation, what, "view", "Attach it to the table behind the view.");
    case RELKIND_FOREIGN_TABLE:
      refuse_relation(relation, what, "foreign table",
                      "Others may write to it without this server. Attach it where it is stored.");
    default:
      refuse_relation(relation, what, "relation", "Pass an ordinary or partitioned table.");
  }
  require_no_partition(relation);
  if (RelationGetRelid(relation) < FirstNormalObjectId)
    refuse_relation(relation, what, "system catalog", "Pass a table of yours.");
}

void require_no_partition(Relation relation) {
  if (!relation->rd_rel->relispartition) return;
  const Oid top = llast_oid(server::ancestors_of(RelationGetRelid(relation)));
  ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                  errmsg("\"%s\" is a partition of table \"%s\"", RelationGetRelationName(relation),
                         get_rel_name(top)),
                  errhint("Attach to that table, and detach there: rows move between its "
                          "partitions.")));
}

}  // namespace idem::tables
