// idem_machine_attach and idem_machine_detach.

#include "machines/arguments.hpp"
#include "machines/attached.hpp"
#include "machines/census.hpp"
#include "machines/changes.hpp"
#include "machines/guards.hpp"
#include "machines/history_months.hpp"
#include "machines/wiring.hpp"
#include "server/arguments.hpp"
#include "server/compat.hpp"
#include "server/guard.hpp"
#include "server/inheritance.hpp"
#include "server/names.hpp"
#include "server/prelude.hpp"
#include "tables/arguments.hpp"
#include "tables/row.hpp"

namespace {

using idem::machines::Attachment;
using idem::machines::ColumnType;
using idem::machines::Edition;
using idem::machines::Guard;
using idem::machines::Place;
using idem::machines::Wish;
using idem::server::errcode_of;

constexpr int kRel = 0, kCol = 1, kMachine = 2, kHistory = 3, kGuards = 4, kAllowNull = 5,
              kAlways = 6, kMachineCol = 7, kVersionCol = 8, kValidate = 9;

bool flag(FunctionCallInfo fcinfo, int number) {
  return !PG_ARGISNULL(number) && PG_GETARG_BOOL(number);
}

void require_column_of(Relation relation, const char *name, Oid type, Oid other,
                       const char *argument) {
  if (name == nullptr) return;
  const Oid found = getBaseType(
      get_atttype(RelationGetRelid(relation), idem::tables::existing_column(relation, name)));
  if (found == type || found == other) return;
  ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                  errmsg("%s \"%s\" must be of type %s, not %s", argument, name,
                         format_type_be(type), format_type_be(found))));
}

ColumnType required_type(Relation relation, AttrNumber column) {
  ColumnType type = {};
  const Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(relation), column - 1);
  if (attribute->attgenerated != '\0')
    ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                    errmsg("column \"%s\" of table \"%s\" is generated, so no transition can be "
                           "refused in it",
                           NameStr(attribute->attname), RelationGetRelationName(relation)),
                    errhint("Attach the machine to the column that it is computed from.")));
  if (!idem::machines::describe_column(attribute->atttypid, attribute->attcollation, &type))
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("column \"%s\" of type %s cannot hold states",
                           NameStr(attribute->attname), format_type_be(attribute->atttypid)),
                    errhint("Use text, varchar, citext, smallint, integer, bigint, an enum, or a "
                            "domain over one of them.")));
  return type;
}

// A state that the column cannot hold, or takes for another one, could never be reached.
void require_values(const ColumnType &type, const Edition *edition) {
  const idem::machines::StateMap *map = idem::machines::map_states(type, edition);
  const idem::machines::StateIndex state = idem::machines::unusable_state(type, *map);
  if (state == idem::machines::kUnknown) return;
  const char *name = edition->machine->state[state].name;
  if (!map->values[state].isnull)
    ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kBadArgument)),
                    errmsg("state \"%s\" of machine \"%s\" equals another one in type %s", name,
                           edition->name, format_type_be(type.type)),
                    errhint("Name the states so that the column can tell them apart.")));
  ereport(ERROR,
          (errcode(errcode_of(idem::sqlstate::kBadArgument)),
           errmsg("state \"%s\" of machine \"%s\" is not a value of type %s", name, edition->name,
                  format_type_be(type.type)),
           type.representation == idem::machines::Representation::enumeration
               ? errhint("Add the label with ALTER TYPE ... ADD VALUE, and commit that, first.")
               : errhint("Name the states by numbers of that type, as in \"1 --> 2 : pay\".")));
}

// The inheritance of triggers is for partitions alone.
void require_attached_children(Relation relation, const char *column, Oid schema,
                               const char *machine) {
  if (relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE) return;
  List *tables = idem::server::descendants_of(RelationGetRelid(relation));
  ListCell *cell;
  foreach (cell, idem::machines::all_attachments(schema)) {
    const auto *attachment = static_cast<const Attachment *>(lfirst(cell));
    const char *name = get_attname(attachment->relation, attachment->column, true);
    if (name != nullptr && strcmp(name, column) == 0 &&
        (machine == nullptr || attachment->machine == nullptr ||
         strcmp(attachment->machine, machine) == 0))
      tables = list_delete_oid(tables, attachment->relation);
  }
  tables = list_delete_oid(tables, RelationGetRelid(relation));
  if (tables == NIL) return;
  ereport(ERROR,
          (errcode(ERRCODE_WRONG_OBJECT_TYPE),
           errmsg("table \"%s\" has a child \"%s\" without this state machine",
                  RelationGetRelationName(relation), get_rel_name(linitial_oid(tables))),
           errdetail("Updating the parent changes rows of the child too, and the child does not "
                     "inherit triggers."),
           errhint("Attach the machine to the child first.")));
}

[[noreturn]] void refuse_guards(const char *problem) {
  ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kBadArgument)), errmsg("%s", problem),
                  errhint("Pass for example guards => '{\"ship\": \"may_ship\", \"pending --> "
                          "paid\": \"public.may_pay(public.orders)\"}'.")));
  pg_unreachable();
}

// A name alone will do if only one function has it.
Oid function_named(const char *name) {
  LOCAL_FCINFO(call, 1);
  InitFunctionCallInfoData(*call, nullptr, 1, InvalidOid, nullptr, nullptr);
  call->args[0] = {CStringGetTextDatum(name), false};
  const Datum function = strchr(name, '(') != nullptr ? to_regprocedure(call) : to_regproc(call);
  if (!call->isnull) return DatumGetObjectId(function);
  refuse_guards(psprintf("guard \"%s\" is not the name of one function", name));
}

Guard read_guard(Relation relation, const Edition *edition, const JsonbValue &transition,
                 const JsonbValue &function) {
  Guard guard = {};
  guard.transition = pnstrdup(transition.val.string.val, transition.val.string.len);
  if (edition != nullptr && !idem::machines::names_transition(*edition->machine, guard.transition))
    refuse_guards(psprintf("machine \"%s\" has no event and no transition \"%s\" to guard",
                           edition->name, guard.transition));
  if (function.type != jbvString)
    refuse_guards(psprintf("the guard of \"%s\" must be the name of a function", guard.transition));
  const Oid named = function_named(pnstrdup(function.val.string.val, function.val.string.len));
  guard.function = quote_qualified_identifier(get_namespace_name(get_func_namespace(named)),
                                              get_func_name(named));
  guard.rows = get_func_nargs(named);
  if (guard.rows < 1 || guard.rows > 2 ||
      idem::machines::guard_function_of(guard, RelationGetRelid(relation)) != named)
    refuse_guards(psprintf("function %s is no guard for rows of table \"%s\"",
                           format_procedure(named), RelationGetRelationName(relation)));
  (void)idem::machines::find_guard(guard, relation);
  return guard;
}

void read_guards(FunctionCallInfo fcinfo, Relation relation, const Edition *edition, Wish *wish) {
  if (PG_ARGISNULL(kGuards)) return;
  Jsonb *guards = PG_GETARG_JSONB_P(kGuards);
  if (!JB_ROOT_IS_OBJECT(guards)) refuse_guards("guards must be a JSON object");
  auto *read = static_cast<Guard *>(palloc((JB_ROOT_COUNT(guards) + 1) * sizeof(Guard)));
  wish->guard = read;
  JsonbIterator *iterator = JsonbIteratorInit(&guards->root);
  JsonbValue transition;
  JsonbValue function;
  JsonbIteratorToken token;
  while ((token = JsonbIteratorNext(&iterator, &transition, true)) != WJB_DONE) {
    if (token != WJB_KEY) continue;
    (void)JsonbIteratorNext(&iterator, &function, true);
    read[wish->guards++] = read_guard(relation, edition, transition, function);
  }
}

const Attachment *existing_attachment(Relation relation, Oid schema, const char *column) {
  ListCell *cell;
  foreach (cell,
           idem::machines::attachments_of(relation, idem::machines::transition_check_in(schema))) {
    const auto *attachment = static_cast<const Attachment *>(lfirst(cell));
    if (strcmp(get_attname(attachment->relation, attachment->column, false), column) == 0)
      return attachment;
  }
  return nullptr;
}

// Two judges would do everything twice, and nobody knows what else is in a trigger of the user.
void require_made_here(Relation relation, const Attachment *attachment) {
  if (attachment == nullptr || attachment->made_here) return;
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("column \"%s\" of table \"%s\" is judged by a trigger of your own",
                         get_attname(attachment->relation, attachment->column, false),
                         RelationGetRelationName(relation)),
                  errhint("Drop it with DROP TRIGGER.")));
}

// The names of table and column; with a number when a renamed table goes by them already.
const char *new_label(Relation relation, Oid schema, const char *column) {
  const char *name = psprintf("%s.%s", idem::server::qualified_name(RelationGetRelid(relation)),
                              quote_identifier(column));
  const char *label = name;
  for (int number = 2; idem::machines::is_label(schema, label); number++)
    label = psprintf("%s#%d", name, number);
  return label;
}

// As the attachment will be, for judging the rows that are there already.
Attachment attachment_to_be(Relation relation, const Place &place, const Wish &wish) {
  Attachment attachment = {};
  attachment.relation = RelationGetRelid(relation);
  attachment.place = place;
  attachment.machine = wish.machine;
  attachment.label = wish.label;
  attachment.column = idem::tables::existing_column(relation, wish.column);
  if (wish.row_machine != nullptr)
    attachment.row_machine = idem::tables::existing_column(relation, wish.row_machine);
  if (wish.row_version != nullptr)
    attachment.row_version = idem::tables::existing_column(relation, wish.row_version);
  attachment.allow_null = wish.allow_null;
  attachment.type = required_type(relation, attachment.column);
  return attachment;
}

void require_known_rows(Relation relation, const Attachment &attachment) {
  StringInfoData problems;
  initStringInfo(&problems);
  ListCell *cell;
  foreach (cell, idem::machines::count_rows(relation, attachment, nullptr,
                                            idem::machines::CountAs::owner)) {
    const auto *group = static_cast<const idem::machines::Group *>(lfirst(cell));
    const char *problem = idem::machines::problem_with(attachment, *group);
    if (problem != nullptr)
      appendStringInfo(&problems, "%s%s (" INT64_FORMAT " row%s): %s.",
                       problems.len == 0 ? "" : "\n",
                       group->text == nullptr ? "NULL" : psprintf("\"%s\"", group->text),
                       group->rows, group->rows == 1 ? "" : "s", problem);
  }
  if (problems.len == 0) return;
  ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kUnknownState)),
                  errmsg("table \"%s\" has rows in states that are not declared",
                         RelationGetRelationName(relation)),
                  errdetail("%s", problems.data),
                  errhint("Declare these states or change the rows; or pass validate => false and "
                          "look at idem_machine_validate() later."),
                  errtablecol(relation, attachment.column)));
}

void require_identity(Relation relation, AttrNumber status) {
  if (idem::tables::key_of_rows(relation, status).columns == 0)
    idem::machines::refuse_without_key(relation);
}

// What has no month yet goes to the default partition, so that no transition waits for one. Months
// are for the worker to make, or for idem_purge(): their locks would be held until we commit. The
// first ones nobody else can have met.
void provide_history(const Place &place) {
  const TimestampTz now = GetCurrentTimestamp();
  if (OidIsValid(idem::server::partition_for(idem::machines::kHistory, place.home, now))) return;
  idem::server::provide_default_partition(idem::machines::kHistory, place.home);
  idem::server::provide_partitions(idem::machines::kHistory, place.home, now);
}

Wish read_wish(FunctionCallInfo fcinfo, Relation relation, const Place &place) {
  Wish wish = {};
  wish.schema = place.home.schema;
  wish.column = idem::machines::required_column_name(fcinfo, kCol);
  wish.machine = idem::machines::machine_argument(fcinfo, kMachine);
  wish.row_machine = idem::tables::column_argument(fcinfo, kMachineCol);
  wish.row_version = idem::tables::column_argument(fcinfo, kVersionCol);
  wish.history = flag(fcinfo, kHistory);
  wish.allow_null = flag(fcinfo, kAllowNull);
  wish.always = flag(fcinfo, kAlways);
  if (wish.machine == nullptr && wish.row_machine == nullptr)
    ereport(ERROR,
            (errcode(errcode_of(idem::sqlstate::kBadArgument)), errmsg("machine must not be null"),
             errhint("Pass the name of a machine, or machine_col => '...' for a column that "
                     "names it.")));
  require_column_of(relation, wish.row_machine, TEXTOID, VARCHAROID, "machine_col");
  require_column_of(relation, wish.row_version, INT4OID, INT4OID, "version_col");
  return wish;
}

// Before the table: whoever defines a version locks the machine first.
void lock_machines(FunctionCallInfo fcinfo, const Place &place) {
  const char *machine = idem::machines::machine_argument(fcinfo, kMachine);
  if (!PG_ARGISNULL(kMachineCol))
    idem::machines::lock_all_machines(place, ShareLock);
  else if (machine != nullptr)
    idem::machines::lock_machine(place, machine, ShareLock);
}

// Dropping triggers locks readers out too. Taken at once: whoever asks for more of a lock than he
// has may meet somebody who does the same.
LOCKMODE lock_needed(FunctionCallInfo fcinfo, const Place &place) {
  Relation relation = idem::tables::open_owned_table(fcinfo, kRel, AccessShareLock);
  const char *column = idem::machines::required_column_name(fcinfo, kCol);
  const bool replaces = existing_attachment(relation, place.home.schema, column) != nullptr;
  relation_close(relation, AccessShareLock);
  return replaces ? AccessExclusiveLock : ShareRowExclusiveLock;
}

// Everything about the table that is wished for, checked against what it is.
Wish check_wish(FunctionCallInfo fcinfo, Relation relation, const Place &place) {
  const Oid schema = place.home.schema;
  idem::tables::require_attachable(relation, "a state machine");
  Wish wish = read_wish(fcinfo, relation, place);
  const Attachment *former = existing_attachment(relation, schema, wish.column);
  require_made_here(relation, former);
  wish.replaces = former != nullptr;
  wish.label = wish.replaces ? former->label : new_label(relation, schema, wish.column);
  const Attachment attachment = attachment_to_be(relation, place, wish);
  wish.type = attachment.type.type;
  const Edition *edition =
      wish.machine == nullptr ? nullptr : idem::machines::edition_of(place, wish.machine, 0);
  if (edition != nullptr) require_values(attachment.type, edition);
  require_attached_children(relation, wish.column, schema, wish.machine);
  read_guards(fcinfo, relation, wish.row_machine == nullptr ? edition : nullptr, &wish);
  if (wish.history) require_identity(relation, attachment.column);
  if (flag(fcinfo, kValidate)) require_known_rows(relation, attachment);
  return wish;
}

}  // namespace

IDEM_FUNCTION(idem_machine_attach) {
  idem::server::require_writable("idem_machine_attach()");
  const Place place = idem::machines::place_of(fcinfo->flinfo->fn_oid);
  lock_machines(fcinfo, place);
  const LOCKMODE mode = lock_needed(fcinfo, place);
  Relation relation = idem::tables::open_owned_table(fcinfo, kRel, mode);
  const Oid table = RelationGetRelid(relation);
  const Wish wish = check_wish(fcinfo, relation, place);
  // ALTER TABLE refuses a table that is in use, by ourselves too.
  relation_close(relation, NoLock);
  if (wish.replaces) idem::machines::drop_triggers(table, place.home.schema, wish.label);
  idem::machines::drop_orphans(table, place.home.schema);
  idem::machines::make_triggers(table, wish);
  if (wish.history) provide_history(place);
  PG_RETURN_VOID();
}

IDEM_FUNCTION(idem_machine_detach) {
  idem::server::require_writable("idem_machine_detach()");
  const Place place = idem::machines::place_of(fcinfo->flinfo->fn_oid);
  Relation relation = idem::tables::open_owned_table(fcinfo, kRel, AccessExclusiveLock);
  const Oid table = RelationGetRelid(relation);
  idem::tables::require_no_partition(relation);
  const char *column = idem::machines::required_column_name(fcinfo, kCol);
  const Attachment *attachment = existing_attachment(relation, place.home.schema, column);
  require_made_here(relation, attachment);
  relation_close(relation, NoLock);
  if (attachment != nullptr)
    idem::machines::drop_triggers(table, place.home.schema, attachment->label);
  return BoolGetDatum(attachment != nullptr);
}
