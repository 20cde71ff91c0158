#include "machines/attachment.hpp"

#include "server/guard.hpp"
#include "server/inheritance.hpp"
#include "server/names.hpp"
#include "server/prelude.hpp"
#include "tables/descriptions.hpp"
#include "tables/triggers.hpp"

namespace idem::machines {

namespace {

// What is wrong with a trigger.
struct Problem {
  int code;
  const char *message;
  const char *hint;
};

bool has_bad_arguments(Problem *problem, const Trigger &trigger, const char *what) {
  *problem = {server::errcode_of(sqlstate::kBadArgument),
              psprintf("trigger \"%s\": %s", trigger.tgname, what),
              "Attach the machine with idem_machine_attach, or write for example EXECUTE FUNCTION "
              "idem_transition_check('order', 'status')."};
  return false;
}

const char *after_prefix(const char *text, const char *prefix) {
  const std::size_t length = strlen(prefix);
  return strncmp(text, prefix, length) == 0 ? text + length : nullptr;
}

struct Roles {
  bool row_machine;
  bool row_version;
};

bool read_guard(Attachment &attachment, Guard *guard, const char *text) {
  const char *separator = strstr(text, "=");
  if (separator == nullptr) return false;
  guard->transition = pnstrdup(text, separator - text);
  guard->function = pstrdup(separator + 1);
  guard->rows = 1;
  const std::size_t length = strlen(guard->function);
  const std::size_t suffix = strlen(kTwoRows);
  if (length > suffix && strcmp(guard->function + length - suffix, kTwoRows) == 0) {
    guard->function = pnstrdup(guard->function, length - suffix);
    guard->rows = 2;
  }
  attachment.guards++;
  return true;
}

bool read_option(Attachment &attachment, Roles *roles, Guard *next_guard, const char *option) {
  const char *rest;
  if (strcmp(option, kOptionHistory) == 0)
    attachment.history = true;
  else if (strcmp(option, kOptionAllowNull) == 0)
    attachment.allow_null = true;
  else if (strcmp(option, kOptionRowMachine) == 0)
    roles->row_machine = true;
  else if (strcmp(option, kOptionRowVersion) == 0)
    roles->row_version = true;
  else if ((rest = after_prefix(option, kOptionLabel)) != nullptr)
    attachment.label = pstrdup(rest);
  else if ((rest = after_prefix(option, kOptionGuard)) != nullptr)
    return read_guard(attachment, next_guard, rest);
  else
    return false;
  return true;
}

bool read_options(Attachment &attachment, const Trigger &trigger, Roles *roles, Problem *problem) {
  auto *guards = static_cast<Guard *>(palloc0((trigger.tgnargs + 1) * sizeof(Guard)));
  attachment.guard = guards;
  for (int i = 2; i < trigger.tgnargs; i++)
    if (!read_option(attachment, roles, &guards[attachment.guards], trigger.tgargs[i]))
      return has_bad_arguments(problem, trigger,
                               psprintf("unknown option \"%s\"", trigger.tgargs[i]));
  attachment.made_here = attachment.label != nullptr;
  if (trigger.tgnargs >= 1 && trigger.tgargs[0][0] != '\0')
    attachment.machine = pstrdup(trigger.tgargs[0]);
  if (attachment.machine == nullptr && !roles->row_machine)
    return has_bad_arguments(problem, trigger, "its first argument must be a machine");
  return true;
}

bool find_named_column(Attachment &attachment, Relation relation, const char *name,
                       Problem *problem) {
  attachment.column = get_attnum(RelationGetRelid(relation), name);
  if (attachment.column > 0) return true;
  *problem = {
      ERRCODE_UNDEFINED_COLUMN,
      psprintf("column \"%s\" of relation \"%s\" does not exist", name,
               RelationGetRelationName(relation)),
      "A trigger of your own names the column in its second argument: create it again under "
      "the new name."};
  return false;
}

bool is_of_type(Relation relation, AttrNumber column, Oid type, Oid other, Problem *problem) {
  if (column == InvalidAttrNumber) return true;
  const Oid found = getBaseType(get_atttype(RelationGetRelid(relation), column));
  if (found == type || found == other) return true;
  *problem = {
      ERRCODE_DATATYPE_MISMATCH,
      psprintf("column \"%s\" of table \"%s\" must be of type %s, not %s",
               get_attname(RelationGetRelid(relation), column, false),
               RelationGetRelationName(relation), format_type_be(type), format_type_be(found)),
      "The WHEN clause of the trigger names the status first, then the column with the "
      "row's machine, then that with its version."};
  return false;
}

bool are_columns_of_machine(const Attachment &attachment, Relation relation, Problem *problem) {
  return is_of_type(relation, attachment.row_machine, TEXTOID, VARCHAROID, problem) &&
         is_of_type(relation, attachment.row_version, INT4OID, INT4OID, problem);
}

bool find_columns(Attachment &attachment, Relation relation, const Trigger &trigger,
                  const Roles &roles, Problem *problem) {
  const char *name = trigger.tgnargs > 1 ? trigger.tgargs[1] : "";
  // The status first, then that of the row's machine, then that of its version.
  List *columns = tables::columns_in_when(trigger);
  if (name[0] != '\0') {
    if (!find_named_column(attachment, relation, name, problem)) return false;
  } else if (list_length(columns) >= 1) {
    attachment.column = static_cast<AttrNumber>(linitial_int(columns));
  } else if (trigger.tgnattr == 1) {
    attachment.column = trigger.tgattr[0];
  } else {
    return has_bad_arguments(problem, trigger, "which column it is about is not said");
  }
  int next = 1;
  if (roles.row_machine && list_length(columns) > next)
    attachment.row_machine = static_cast<AttrNumber>(list_nth_int(columns, next++));
  if (roles.row_version && list_length(columns) > next)
    attachment.row_version = static_cast<AttrNumber>(list_nth_int(columns, next++));
  if (next == 1 + roles.row_machine + roles.row_version)
    return are_columns_of_machine(attachment, relation, problem);
  return has_bad_arguments(problem, trigger,
                           "its WHEN clause does not name the columns of the row's machine");
}

bool describe_type(Attachment &attachment, Relation relation, Problem *problem) {
  const Form_pg_attribute column = TupleDescAttr(RelationGetDescr(relation), attachment.column - 1);
  const bool generated = column->attgenerated != '\0';
  if (!generated && describe_column(column->atttypid, column->attcollation, &attachment.type))
    return true;
  const char *place = psprintf("column \"%s\" of table \"%s\"", NameStr(column->attname),
                               RelationGetRelationName(relation));
  *problem = {ERRCODE_DATATYPE_MISMATCH,
              generated ? psprintf("%s is generated and cannot hold states", place)
                        : psprintf("%s has type %s, which cannot hold states", place,
                                   format_type_be(column->atttypid)),
              "Attach the machine to a plain column of type text, varchar, citext, smallint, "
              "integer, bigint, an enum, or a domain over one of them."};
  return false;
}

// By the name of the table that partitions are of.
const char *default_label(Relation relation, AttrNumber column) {
  Oid table = RelationGetRelid(relation);
  if (relation->rd_rel->relispartition) table = llast_oid(server::ancestors_of(table));
  return psprintf("%s.%s", server::qualified_name(table),
                  quote_identifier(get_attname(RelationGetRelid(relation), column, false)));
}

bool describe(Relation relation, const Trigger &trigger, Attachment *attachment, Problem *problem) {
  Roles roles = {};
  *attachment = {};
  attachment->trigger = trigger.tgoid;
  attachment->relation = RelationGetRelid(relation);
  attachment->place = place_of(trigger.tgfoid);
  attachment->always = trigger.tgenabled == TRIGGER_FIRES_ALWAYS;
  if (!read_options(*attachment, trigger, &roles, problem) ||
      !find_columns(*attachment, relation, trigger, roles, problem) ||
      !describe_type(*attachment, relation, problem))
    return false;
  if (attachment->label == nullptr) attachment->label = default_label(relation, attachment->column);
  return true;
}

const void *describe_or_raise(Relation relation, const Trigger &trigger, Oid *other) {
  auto *attachment = static_cast<Attachment *>(palloc(sizeof(Attachment)));
  Problem problem;
  if (!describe(relation, trigger, attachment, &problem))
    ereport(ERROR, (errcode(problem.code), errmsg("%s", problem.message),
                    errhint("%s", problem.hint), errtable(relation)));
  *other = attachment->place.machines;
  return attachment;
}

tables::Descriptions attachments = {"pg_idem attachments", describe_or_raise};

void on_label_change(Datum, int, uint32) {
  tables::forget_descriptions(attachments);
}

}  // namespace

bool has_option(const Trigger &trigger, const char *option) {
  for (int i = 2; i < trigger.tgnargs; i++)
    if (strcmp(trigger.tgargs[i], option) == 0) return true;
  return false;
}

bool is_made_here(const Trigger &trigger) {
  for (int i = 2; i < trigger.tgnargs; i++)
    if (after_prefix(trigger.tgargs[i], kOptionLabel) != nullptr) return true;
  return false;
}

bool try_describe(Relation relation, const Trigger &trigger, Attachment *attachment) {
  Problem problem;
  return describe(relation, trigger, attachment, &problem);
}

const Attachment *attachment_of(Relation relation, const Trigger &trigger) {
  // Of enumerations.
  if (attachments.entries == nullptr)
    CacheRegisterSyscacheCallback(ENUMOID, on_label_change, Datum{0});
  return static_cast<const Attachment *>(tables::description_of(attachments, relation, trigger));
}

Oid transition_check_in(Oid schema) {
  return tables::trigger_function_in(schema, "idem_transition_check");
}

bool judges_changes(const Trigger &trigger, Oid function) {
  return trigger.tgfoid == function && TRIGGER_FOR_ROW(trigger.tgtype) &&
         TRIGGER_FOR_UPDATE(trigger.tgtype);
}

const Attachment *find_attachment(Relation relation, Oid schema, const char *column) {
  const Oid function = transition_check_in(schema);
  const Attachment *found = nullptr;
  const TriggerDesc *triggers = tables::triggers_on(relation);
  for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++) {
    if (!judges_changes(triggers->triggers[i], function)) continue;
    const Attachment *one = attachment_of(relation, triggers->triggers[i]);
    const char *name = get_attname(RelationGetRelid(relation), one->column, false);
    if (column != nullptr && strcmp(column, name) != 0) continue;
    if (found != nullptr && found->column != one->column)
      ereport(ERROR, (errcode(server::errcode_of(sqlstate::kBadArgument)),
                      errmsg("table \"%s\" has several columns with a state machine",
                             RelationGetRelationName(relation)),
                      errhint("Say which one in the argument col.")));
    found = one;
  }
  if (found != nullptr) return found;
  ereport(ERROR, (errcode(server::errcode_of(sqlstate::kBadArgument)),
                  column == nullptr ? errmsg("table \"%s\" has no state machine",
                                             RelationGetRelationName(relation))
                                    : errmsg("column \"%s\" of table \"%s\" has no state machine",
                                             column, RelationGetRelationName(relation)),
                  errhint("Attach one with idem_machine_attach.")));
  pg_unreachable();
}

}  // namespace idem::machines
