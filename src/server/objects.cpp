#include "server/objects.hpp"

#include "server/prelude.hpp"

namespace idem::server {

namespace {

// The schema is gone for a statement that has just dropped the extension.
const char *qualified(Oid schema, const char *name) {
  const char *schema_name = get_namespace_name(schema);
  return schema_name != nullptr ? psprintf("%s.%s", schema_name, name) : name;
}

bool has_only(Relation relation, int columns) {
  const TupleDesc descriptor = RelationGetDescr(relation);
  const TupleConstr *constraints = descriptor->constr;
  return descriptor->natts == columns &&
         (constraints == nullptr ||
          (constraints->num_check == 0 && !constraints->has_generated_stored));
}

}  // namespace

Oid relation_named(const char *name, Oid schema) {
  const Oid relid = get_relname_relid(name, schema);
  if (!OidIsValid(relid)) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
                    errmsg("relation \"%s\" does not exist", qualified(schema, name)),
                    errhint("It belongs to the extension pg_idem; restore it, or re-create the "
                            "extension.")));
  }
  return relid;
}

Oid type_named(const char *name, Oid schema) {
  const Oid type = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum(name),
                                   ObjectIdGetDatum(schema));
  if (!OidIsValid(type))
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
                    errmsg("type \"%s\" does not exist", qualified(schema, name))));
  return type;
}

AttrNumber column_named(Oid relation, const char *table, const char *column, Oid type) {
  const AttrNumber number = get_attnum(relation, column);
  if (number == InvalidAttrNumber)
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
                    errmsg("column \"%s\" of relation \"%s\" does not exist", column, table),
                    errhint("It belongs to the extension pg_idem; put it back.")));
  const Oid found = get_atttype(relation, number);
  if (found != type)
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("column \"%s\" of relation \"%s\" has type %s instead of %s", column,
                           table, format_type_be(found), format_type_be(type)),
                    errhint("It belongs to the extension pg_idem; change it back.")));
  return number;
}

Oid lock_named(const char *name, Oid schema, LOCKMODE mode, Oid *watched) {
  for (;;) {
    const Oid relation = relation_named(name, schema);
    *watched = relation;
    LockRelationOid(relation, mode);
    if (get_relname_relid(name, schema) == relation) return relation;
    UnlockRelationOid(relation, mode);
  }
}

bool is_plain_table(Relation relation, int columns) {
  return has_only(relation, columns) && relation->trigdesc == nullptr &&
         relation->rd_rules == nullptr && !relation->rd_rel->relispartition &&
         relation->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT;
}

}  // namespace idem::server
