#include "machines/sitting.hpp"

#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/inheritance.hpp"
#include "server/prelude.hpp"

namespace idem::machines {

namespace {

// Statement triggers are not inherited: a partition made later has none, a child by inheritance is
// written to by statements on its parent, and then nobody says when the statement ends.
bool tells_end_of_statement(Relation relation, const Trigger &trigger) {
  if (!relation->rd_rel->relispartition && server::parents_of(RelationGetRelid(relation)) != NIL)
    return false;
  // Nothing is looked up while these are read, so they need no copy.
  const TriggerDesc *triggers = relation->trigdesc;
  for (int i = 0; i < triggers->numtriggers; i++) {
    const Trigger &other = triggers->triggers[i];
    if (other.tgfoid == trigger.tgfoid && !TRIGGER_FOR_ROW(other.tgtype) &&
        TRIGGER_FOR_AFTER(other.tgtype))
      return true;
  }
  return false;
}

[[noreturn]] void refuse_nameless(const Attachment &attachment, TupleTableSlot *slot) {
  ereport(
      ERROR,
      (errcode(server::errcode_of(sqlstate::kNoMachine)), errmsg("the row names no state machine"),
       errdetail(
           "Column \"%s\" is null.",
           NameStr(TupleDescAttr(slot->tts_tupleDescriptor, attachment.row_machine - 1)->attname)),
       errhint("Write the name of a machine there, or attach one for rows that name none.")));
  pg_unreachable();
}

const char *machine_of_row(const Attachment &attachment, TupleTableSlot *slot) {
  if (attachment.row_machine == InvalidAttrNumber) return attachment.machine;
  bool isnull;
  const Datum name = slot_getattr(slot, attachment.row_machine, &isnull);
  if (!isnull) return TextDatumGetCString(name);
  if (attachment.machine == nullptr) refuse_nameless(attachment, slot);
  return attachment.machine;
}

int version_of_row(const Attachment &attachment, const char *machine, TupleTableSlot *slot) {
  if (attachment.row_version == InvalidAttrNumber) return 0;
  bool isnull;
  const Datum version = slot_getattr(slot, attachment.row_version, &isnull);
  // To us it would stand for the newest one.
  if (!isnull && DatumGetInt32(version) == 0) refuse_missing(machine, 0, false);
  return isnull ? 0 : DatumGetInt32(version);
}

const StateMap &map_for(Sitting &sitting, const Edition *edition) {
  ListCell *cell;
  foreach (cell, sitting.maps) {
    const auto *map = static_cast<const StateMap *>(lfirst(cell));
    if (map->edition == edition) return *map;
  }
  const MemoryContext caller = MemoryContextSwitchTo(sitting.context);
  StateMap *map = map_states(sitting.attachment->type, edition);
  sitting.maps = lcons(map, sitting.maps);
  MemoryContextSwitchTo(caller);
  return *map;
}

const GuardFunction &guard_function(Sitting &sitting, int number, Relation relation) {
  GuardFunction *&found = sitting.guards[number];
  if (found != nullptr) return *found;
  const MemoryContext caller = MemoryContextSwitchTo(sitting.context);
  auto *function = static_cast<GuardFunction *>(palloc(sizeof(GuardFunction)));
  *function = find_guard(sitting.attachment->guard[number], relation);
  MemoryContextSwitchTo(caller);
  found = function;
  return *function;
}

}  // namespace

Sitting *sitting_of(FunctionCallInfo fcinfo, const TriggerData &trigger) {
  FmgrInfo *function = fcinfo->flinfo;
  if (function->fn_extra != nullptr) return static_cast<Sitting *>(function->fn_extra);
  const Attachment *attachment = attachment_of(trigger.tg_relation, *trigger.tg_trigger);
  auto *sitting =
      static_cast<Sitting *>(MemoryContextAllocZero(function->fn_mcxt, sizeof(Sitting)));
  sitting->attachment = attachment;
  sitting->context = function->fn_mcxt;
  sitting->guards = static_cast<GuardFunction **>(
      MemoryContextAllocZero(function->fn_mcxt, (attachment->guards + 1) * sizeof(void *)));
  sitting->collects =
      attachment->history && tells_end_of_statement(trigger.tg_relation, *trigger.tg_trigger);
  function->fn_extra = sitting;
  return sitting;
}

const Edition *edition_of_row(Sitting &sitting, TupleTableSlot *slot, CommandId command) {
  const Attachment &attachment = *sitting.attachment;
  const char *machine = machine_of_row(attachment, slot);
  return edition_for_command(attachment.place, machine, version_of_row(attachment, machine, slot),
                             command);
}

Position position_of(Sitting &sitting, const Edition *edition, TupleTableSlot *slot) {
  const ColumnType &type = sitting.attachment->type;
  bool isnull;
  const Datum value = slot_getattr(slot, sitting.attachment->column, &isnull);
  if (isnull) return {kUnknown, nullptr};
  const StateIndex state = state_of(type, map_for(sitting, edition), value);
  if (state != kUnknown) return {state, edition->machine->state[state].name};
  return {kUnknown, text_of_value(type, value)};
}

const char *first_refusal(Sitting &sitting, const Move &move, HeapTuple former, HeapTuple row,
                          const char *event, int *number) {
  const Attachment &attachment = *sitting.attachment;
  // Out of NULL leads no transition, so there is nothing to guard.
  if (move.from.state == kUnknown) return nullptr;
  for (int i = 0; i < attachment.guards; i++) {
    if (!concerns(attachment.guard[i], *move.edition->machine, move.from.state, move.to.state,
                  event))
      continue;
    const char *reason =
        reason_against(guard_function(sitting, i, move.relation), move.relation, former, row);
    if (reason == nullptr) continue;
    if (number != nullptr) *number = i;
    return reason;
  }
  return nullptr;
}

void ask_guards(Sitting &sitting, const Move &move, HeapTuple former, HeapTuple row,
                const char *event) {
  int number;
  const char *reason = first_refusal(sitting, move, former, row, event, &number);
  if (reason != nullptr) refuse_by_guard(move, sitting.attachment->guard[number], reason);
}

}  // namespace idem::machines
