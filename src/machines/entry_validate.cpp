// idem_machine_validate and idem_machine_attachments: what is attached, and what is wrong with it.

#include "machines/arguments.hpp"
#include "machines/attached.hpp"
#include "machines/census.hpp"
#include "machines/guards.hpp"
#include "server/guard.hpp"
#include "server/inheritance.hpp"
#include "server/json_value.hpp"
#include "server/prelude.hpp"
#include "server/rows.hpp"
#include "tables/arguments.hpp"
#include "tables/triggers.hpp"

namespace {

using idem::machines::Attachment;
using idem::machines::Group;

void add_problem(const idem::server::Rows &rows, const char *state, const std::int64_t *count,
                 const char *problem) {
  Datum values[] = {state == nullptr ? Datum{0} : CStringGetTextDatum(state),
                    count == nullptr ? Datum{0} : Int64GetDatum(*count),
                    CStringGetTextDatum(problem)};
  bool nulls[] = {state == nullptr, count == nullptr, false};
  rows.add(values, nulls);
}

void add_rows(const idem::server::Rows &rows, Relation relation, const Attachment &attachment) {
  ListCell *cell;
  foreach (cell, idem::machines::count_rows(relation, attachment, nullptr,
                                            idem::machines::CountAs::owner)) {
    const auto *group = static_cast<const Group *>(lfirst(cell));
    const char *problem = idem::machines::problem_with(attachment, *group);
    if (problem != nullptr) add_problem(rows, group->text, &group->rows, problem);
  }
}

// A state that was defined after the machine was attached, and that no row can be in.
void add_values(const idem::server::Rows &rows, const Attachment &attachment) {
  if (attachment.machine == nullptr) return;
  const idem::machines::Edition *edition =
      idem::machines::find_edition(attachment.place, attachment.machine, 0);
  if (edition == nullptr) {
    add_problem(rows, nullptr, nullptr,
                psprintf("state machine \"%s\" is not defined", attachment.machine));
    return;
  }
  const idem::machines::StateIndex state = idem::machines::unusable_state(
      attachment.type, *idem::machines::map_states(attachment.type, edition));
  if (state == idem::machines::kUnknown) return;
  add_problem(rows, edition->machine->state[state].name, nullptr,
              psprintf("not a value of its own in type %s", format_type_be(attachment.type.type)));
}

bool is_of(const Trigger &trigger, Relation relation, const Attachment &attachment) {
  Attachment other;
  if (get_func_namespace(trigger.tgfoid) != attachment.place.home.schema) return false;
  if (idem::machines::has_option(trigger,
                                 psprintf("%s%s", idem::machines::kOptionLabel, attachment.label)))
    return true;
  return !attachment.made_here && TRIGGER_FOR_ROW(trigger.tgtype) &&
         idem::machines::try_describe(relation, trigger, &other) &&
         strcmp(other.label, attachment.label) == 0;
}

// Triggers of one table or partition: those that are off, and whether rows are judged at birth.
void add_triggers(const idem::server::Rows &rows, Relation relation, const Attachment &attachment) {
  bool births = false;
  bool changes = false;
  const TriggerDesc *triggers = idem::tables::triggers_on(relation);
  for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++) {
    const Trigger &trigger = triggers->triggers[i];
    if (!is_of(trigger, relation, attachment)) continue;
    if (TRIGGER_FOR_ROW(trigger.tgtype) && TRIGGER_FOR_AFTER(trigger.tgtype))
      births = births || TRIGGER_FOR_INSERT(trigger.tgtype);
    changes = changes || (TRIGGER_FOR_ROW(trigger.tgtype) && TRIGGER_FOR_UPDATE(trigger.tgtype));
    if (trigger.tgenabled == TRIGGER_DISABLED || trigger.tgenabled == TRIGGER_FIRES_ON_REPLICA)
      add_problem(rows, nullptr, nullptr,
                  psprintf("trigger \"%s\" of table \"%s\" does not fire", trigger.tgname,
                           RelationGetRelationName(relation)));
  }
  if (!births)
    add_problem(rows, nullptr, nullptr,
                psprintf("table \"%s\" has no trigger that judges new rows",
                         RelationGetRelationName(relation)));
  if (!changes)
    add_problem(rows, nullptr, nullptr,
                psprintf("table \"%s\" has no trigger that judges changes",
                         RelationGetRelationName(relation)));
}

bool has_machine(Relation relation, Oid function) {
  const TriggerDesc *triggers = idem::tables::triggers_on(relation);
  for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++)
    if (idem::machines::judges_changes(triggers->triggers[i], function)) return true;
  return false;
}

void add_descendants(const idem::server::Rows &rows, Oid table, const Attachment &attachment,
                     Oid function) {
  ListCell *cell;
  foreach (cell, idem::server::descendants_of(table)) {
    Relation one = try_relation_open(lfirst_oid(cell), AccessShareLock);
    if (one == nullptr) continue;
    const bool inherits = !one->rd_rel->relispartition && RelationGetRelid(one) != table;
    if (!inherits)
      add_triggers(rows, one, attachment);
    else if (!has_machine(one, function))
      add_problem(
          rows, nullptr, nullptr,
          psprintf("child table \"%s\" has no state machine", RelationGetRelationName(one)));
    relation_close(one, AccessShareLock);
  }
}

void add_guards(const idem::server::Rows &rows, const Attachment &attachment) {
  const idem::machines::Edition *edition =
      attachment.machine == nullptr || attachment.row_machine != InvalidAttrNumber
          ? nullptr
          : idem::machines::find_edition(attachment.place, attachment.machine, 0);
  for (int i = 0; i < attachment.guards; i++) {
    const idem::machines::Guard &guard = attachment.guard[i];
    if (!OidIsValid(idem::machines::guard_function_of(guard, attachment.relation)))
      add_problem(rows, nullptr, nullptr,
                  psprintf("guard function %s does not exist", guard.function));
    if (edition != nullptr &&
        !idem::machines::names_transition(*edition->machine, guard.transition))
      add_problem(rows, nullptr, nullptr,
                  psprintf("guard %s is for \"%s\", which machine \"%s\", version %d, has not",
                           guard.function, guard.transition, edition->name, edition->version));
  }
}

Datum guards_datum(const Attachment &attachment) {
  JsonbParseState *state = nullptr;
  (void)pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
  for (int i = 0; i < attachment.guards; i++) {
    JsonbValue transition = idem::server::string_value(attachment.guard[i].transition);
    JsonbValue function = idem::server::string_value(attachment.guard[i].function);
    (void)pushJsonbValue(&state, WJB_KEY, &transition);
    (void)pushJsonbValue(&state, WJB_VALUE, &function);
  }
  return JsonbPGetDatum(JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr)));
}

NullableDatum column_datum(const Attachment &attachment, AttrNumber column) {
  if (column == InvalidAttrNumber) return {Datum{0}, true};
  auto *name = static_cast<NameData *>(palloc(sizeof(NameData)));
  namestrcpy(name, get_attname(attachment.relation, column, false));
  return {NameGetDatum(name), false};
}

}  // namespace

IDEM_FUNCTION(idem_machine_validate) {
  const idem::machines::Place place = idem::machines::place_of(fcinfo->flinfo->fn_oid);
  Relation relation = idem::tables::open_owned_table(fcinfo, 0, AccessShareLock);
  const idem::server::Rows rows = idem::server::begin_rows(fcinfo);
  const Attachment *attachment = idem::machines::find_attachment(
      relation, place.home.schema, idem::tables::column_argument(fcinfo, 1));
  const Oid function = idem::machines::transition_check_in(place.home.schema);
  add_values(rows, *attachment);
  add_rows(rows, relation, *attachment);
  add_descendants(rows, RelationGetRelid(relation), *attachment, function);
  add_guards(rows, *attachment);
  relation_close(relation, NoLock);
  return Datum{0};
}

IDEM_FUNCTION(idem_machine_attached) {
  const idem::server::Rows rows = idem::server::begin_rows(fcinfo);
  const Oid schema = get_func_namespace(fcinfo->flinfo->fn_oid);
  ListCell *cell;
  foreach (cell, idem::machines::all_attachments(schema)) {
    const auto *attachment = static_cast<const Attachment *>(lfirst(cell));
    const NullableDatum columns[] = {column_datum(*attachment, attachment->column),
                                     column_datum(*attachment, attachment->row_machine),
                                     column_datum(*attachment, attachment->row_version)};
    Datum values[] = {
        ObjectIdGetDatum(attachment->relation),
        columns[0].value,
        attachment->machine == nullptr ? Datum{0} : CStringGetTextDatum(attachment->machine),
        BoolGetDatum(attachment->history),
        BoolGetDatum(attachment->allow_null),
        BoolGetDatum(attachment->always),
        guards_datum(*attachment),
        columns[1].value,
        columns[2].value,
        CStringGetTextDatum(attachment->label)};
    bool nulls[] = {false,
                    false,
                    attachment->machine == nullptr,
                    false,
                    false,
                    false,
                    false,
                    columns[1].isnull,
                    columns[2].isnull,
                    false};
    rows.add(values, nulls);
  }
  return Datum{0};
}
