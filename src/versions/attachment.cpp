#include "versions/attachment.hpp"

#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "tables/arguments.hpp"
#include "tables/descriptions.hpp"
#include "tables/triggers.hpp"

namespace idem::versions {

namespace {

[[noreturn]] void refuse_arguments(const Trigger &trigger, const char *what) {
  ereport(ERROR, (errcode(server::errcode_of(sqlstate::kBadArgument)),
                  errmsg("trigger \"%s\": %s", trigger.tgname, what),
                  errhint("Attach the check with idem_version_attach, or write for example EXECUTE "
                          "FUNCTION idem_version_check('version', 'where').")));
  pg_unreachable();
}

Mode mode_of(const Trigger &trigger) {
  Mode mode = Mode::where;
  if (trigger.tgnargs > 1 && !read_mode(trigger.tgargs[1], &mode))
    refuse_arguments(trigger, psprintf("unknown mode \"%s\"", trigger.tgargs[1]));
  return mode;
}

// By number, the version first.
List *columns_of(Relation relation, const Trigger &trigger) {
  if (trigger.tgnargs < 1) refuse_arguments(trigger, "its first argument must be a column");
  if (trigger.tgargs[0][0] == '\0') {
    List *columns = tables::columns_in_when(trigger);
    if (columns == NIL) refuse_arguments(trigger, "which column it is about is not said");
    return columns;
  }
  List *columns = list_make1_int(tables::existing_column(relation, trigger.tgargs[0]));
  for (int i = 2; i < trigger.tgnargs; i++)
    columns = lappend_int(columns, tables::existing_column(relation, trigger.tgargs[i]));
  return columns;
}

const void *describe(Relation relation, const Trigger &trigger, Oid *) {
  auto *attachment = static_cast<Attachment *>(palloc0(sizeof(Attachment)));
  auto *ignores = static_cast<bool *>(palloc0(RelationGetDescr(relation)->natts * sizeof(bool)));
  attachment->mode = mode_of(trigger);
  attachment->made_here = trigger.tgnargs > 0 && trigger.tgargs[0][0] == '\0';
  attachment->ignores = ignores;
  List *columns = columns_of(relation, trigger);
  attachment->column = static_cast<AttrNumber>(linitial_int(columns));
  require_version_column(relation, attachment->column);
  attachment->big =
      TupleDescAttr(RelationGetDescr(relation), attachment->column - 1)->atttypid == INT8OID;
  for (int i = 1; i < list_length(columns); i++) ignores[list_nth_int(columns, i) - 1] = true;
  attachment->ignored = list_length(columns) - 1;
  return attachment;
}

bool can_be_version(Relation relation, AttrNumber column) {
  if (column <= 0) return false;
  const Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(relation), column - 1);
  return (attribute->atttypid == INT4OID || attribute->atttypid == INT8OID) &&
         attribute->attgenerated == '\0' && attribute->attidentity == '\0';
}

tables::Descriptions attachments = {"pg_idem version columns", describe};

}  // namespace

Oid version_check_in(Oid schema) {
  return tables::trigger_function_in(schema, "idem_version_check");
}

const Attachment *attachment_of(Relation relation, const Trigger &trigger) {
  return static_cast<const Attachment *>(tables::description_of(attachments, relation, trigger));
}

Attached find_attached(Relation relation, Oid function) {
  const TriggerDesc *triggers = tables::triggers_on(relation);
  for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++)
    if (triggers->triggers[i].tgfoid == function)
      return {&triggers->triggers[i], attachment_of(relation, triggers->triggers[i])};
  return {nullptr, nullptr};
}

bool makes_sense(Relation relation, const Trigger &trigger) {
  Mode mode;
  if (trigger.tgnargs < 1) return false;
  if (trigger.tgnargs > 1 && !read_mode(trigger.tgargs[1], &mode)) return false;
  if (trigger.tgargs[0][0] == '\0') {
    List *columns = tables::columns_in_when(trigger);
    return columns != NIL &&
           can_be_version(relation, static_cast<AttrNumber>(linitial_int(columns)));
  }
  for (int i = 2; i < trigger.tgnargs; i++)
    if (get_attnum(RelationGetRelid(relation), trigger.tgargs[i]) <= 0) return false;
  return can_be_version(relation, get_attnum(RelationGetRelid(relation), trigger.tgargs[0]));
}

void require_version_column(Relation relation, AttrNumber column) {
  const Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(relation), column - 1);
  const char *name = NameStr(attribute->attname);
  if (attribute->attgenerated != '\0' || attribute->attidentity != '\0')
    ereport(ERROR,
            (errcode(ERRCODE_DATATYPE_MISMATCH),
             errmsg("column \"%s\" of table \"%s\" is %s and cannot be a version", name,
                    RelationGetRelationName(relation),
                    attribute->attgenerated != '\0' ? "generated" : "an identity column"),
             errhint("Add a plain column with ALTER TABLE ... ADD COLUMN ... integer NOT NULL "
                     "DEFAULT 1."),
             errtablecol(relation, column)));
  if (can_be_version(relation, column)) return;
  ereport(ERROR,
          (errcode(ERRCODE_DATATYPE_MISMATCH),
           errmsg("column \"%s\" of table \"%s\" has type %s, and a version must be of type "
                  "integer or bigint",
                  name, RelationGetRelationName(relation), format_type_be(attribute->atttypid)),
           errhint("Change it with ALTER TABLE ... ALTER COLUMN ... TYPE bigint, or add "
                   "another column."),
           errtablecol(relation, column)));
}

}  // namespace idem::versions
