// idem_transition_check and idem_pin_version: the trigger functions of attached tables.

#include "machines/attachment.hpp"
#include "machines/changes.hpp"
#include "machines/judging.hpp"
#include "machines/moved.hpp"
#include "machines/sitting.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "tables/triggers.hpp"

namespace {

using idem::machines::Edition;
using idem::machines::Former;
using idem::machines::FormerRow;
using idem::machines::Judged;
using idem::machines::Move;
using idem::machines::Row;
using idem::machines::Sitting;

const TriggerData &trigger_of(FunctionCallInfo fcinfo, const char *function) {
  if (!CALLED_AS_TRIGGER(fcinfo))
    idem::tables::refuse_use(psprintf("function %s() must be called as a trigger", function),
                             "Attach a machine with idem_machine_attach.");
  return *reinterpret_cast<const TriggerData *>(fcinfo->context);
}

bool fires_before(const TriggerData &trigger) {
  return TRIGGER_FIRED_BEFORE(trigger.tg_event);
}

// The command that stored a row, which tells one statement from another. A row that is not stored
// yet has none, nor has one of a table that is no heap.
CommandId command_of(const TriggerData &trigger, HeapTuple tuple, TupleTableSlot *slot) {
  if (fires_before(trigger) || !TTS_IS_BUFFERTUPLE(slot)) return GetCurrentCommandId(false);
  return HeapTupleHeaderGetCmin(tuple->t_data);
}

void record(Sitting &sitting, const Move &move, const Former *former) {
  if (!sitting.knows_key) {
    sitting.key = idem::tables::key_of_rows(move.relation, move.attachment->column);
    if (sitting.key.columns == 0) idem::machines::refuse_without_key(move.relation);
    sitting.knows_key = true;
  }
  idem::machines::Change change = {};
  change.attachment = sitting.attachment;
  change.edition = move.edition;
  change.key = idem::tables::key_of_row(sitting.key, move.relation, move.slot);
  change.from = move.from.text;
  change.to = move.to.text;
  if (former != nullptr &&
      idem::machines::is_fired(*sitting.attachment, former->table, former->address))
    change.fired = idem::machines::firing;
  idem::machines::collect(change);
  if (!sitting.collects) idem::machines::write_changes();
}

void check_birth(Sitting &sitting, const Row &row) {
  const Edition *edition = idem::machines::edition_of_row(sitting, row.slot, row.command);
  const Move move = {sitting.attachment,
                     edition,
                     row.relation,
                     row.slot,
                     true,
                     {idem::machines::kUnknown, nullptr},
                     idem::machines::position_of(sitting, edition, row.slot)};
  idem::machines::require(move, idem::machines::judge(move));
  if (sitting.attachment->history) record(sitting, move, nullptr);
}

// The row is judged under the machine that it had before.
void check_change(Sitting &sitting, const Former &former, const Row &row) {
  const Judged judged = idem::machines::judge_change(sitting, former, row);
  if (judged.changed && sitting.attachment->history) record(sitting, judged.move, &former);
}

// Partitions may have their columns in different places.
void check_moved(Sitting &sitting, const FormerRow &former, const Row &row) {
  const TupleDesc descriptor = RelationGetDescr(row.relation);
  TupleConversionMap *map = convert_tuples_by_name(former.descriptor, descriptor);
  HeapTuple tuple = map == nullptr ? former.tuple : execute_attr_map_tuple(former.tuple, map);
  ItemPointerData address = former.address;
  TupleTableSlot *slot = MakeSingleTupleTableSlot(descriptor, &TTSOpsHeapTuple);
  (void)ExecStoreHeapTuple(tuple, slot, false);
  check_change(sitting, {former.table, &address, tuple, slot}, row);
  ExecDropSingleTupleTableSlot(slot);
}

void on_insert(Sitting &sitting, const TriggerData &trigger) {
  const Row row = {trigger.tg_relation, trigger.tg_trigtuple, trigger.tg_trigslot,
                   command_of(trigger, trigger.tg_trigtuple, trigger.tg_trigslot)};
  const FormerRow *former =
      trigger.tg_relation->rd_rel->relispartition && TTS_IS_BUFFERTUPLE(trigger.tg_trigslot)
          ? idem::machines::take_moved(*sitting.attachment, trigger.tg_trigtuple)
          : nullptr;
  // What arrives where another row left from has not moved: that one was lost on its way.
  if (former != nullptr && former->table != RelationGetRelid(trigger.tg_relation))
    check_moved(sitting, *former, row);
  else
    check_birth(sitting, row);
}

void on_update(Sitting &sitting, const TriggerData &trigger) {
  const Row row = {trigger.tg_relation, trigger.tg_newtuple, trigger.tg_newslot,
                   command_of(trigger, trigger.tg_newtuple, trigger.tg_newslot)};
  check_change(sitting,
               {RelationGetRelid(trigger.tg_relation), &trigger.tg_trigtuple->t_self,
                trigger.tg_trigtuple, trigger.tg_trigslot},
               row);
}

void on_delete(const Sitting &sitting, const TriggerData &trigger) {
  if (TTS_IS_BUFFERTUPLE(trigger.tg_trigslot) && idem::machines::has_moved(trigger.tg_trigtuple))
    idem::machines::remember_moved(*sitting.attachment, trigger.tg_relation, trigger.tg_trigtuple);
}

// What a trigger before the fact returns is done.
Datum row_to_store(const TriggerData &trigger) {
  HeapTuple row = nullptr;
  if (fires_before(trigger))
    row = TRIGGER_FIRED_BY_UPDATE(trigger.tg_event) ? trigger.tg_newtuple : trigger.tg_trigtuple;
  return PointerGetDatum(row);
}

void require_sensible_time(const TriggerData &trigger, const Sitting &sitting) {
  if (!fires_before(trigger)) return;
  if (TRIGGER_FIRED_BY_INSERT(trigger.tg_event))
    idem::tables::refuse_use(
        "idem_transition_check() cannot judge a row before it is inserted",
        "Make the trigger fire AFTER INSERT: INSERT ... ON CONFLICT fires triggers BEFORE "
        "INSERT also for rows that it then updates.");
  if (sitting.attachment->history)
    idem::tables::refuse_use(
        "idem_transition_check() cannot write history before the row is stored",
        "Make the trigger fire AFTER INSERT and AFTER UPDATE.");
}

}  // namespace

IDEM_FUNCTION(idem_transition_check) {
  const TriggerData &trigger = trigger_of(fcinfo, "idem_transition_check");
  if (TRIGGER_FIRED_INSTEAD(trigger.tg_event))
    idem::tables::refuse_use("idem_transition_check() cannot judge changes of a view",
                             "Attach the machine to the table behind it.");
  if (TRIGGER_FIRED_FOR_STATEMENT(trigger.tg_event)) {
    // Whoever leaves FOR EACH ROW out would have nothing judged.
    if (fires_before(trigger) || !idem::machines::has_option(*trigger.tg_trigger, "history"))
      idem::tables::refuse_use("idem_transition_check() must be fired for each row",
                               "Write FOR EACH ROW in CREATE TRIGGER.");
    idem::machines::write_changes();
    return PointerGetDatum(nullptr);
  }
  Sitting *sitting = idem::machines::sitting_of(fcinfo, trigger);
  require_sensible_time(trigger, *sitting);
  if (TRIGGER_FIRED_BY_INSERT(trigger.tg_event))
    on_insert(*sitting, trigger);
  else if (TRIGGER_FIRED_BY_UPDATE(trigger.tg_event))
    on_update(*sitting, trigger);
  else if (!fires_before(trigger))
    on_delete(*sitting, trigger);
  return row_to_store(trigger);
}

// Fires only where the row says nothing itself: its WHEN clause sees to that.
IDEM_FUNCTION(idem_pin_version) {
  const TriggerData &trigger = trigger_of(fcinfo, "idem_pin_version");
  if (!fires_before(trigger) || !TRIGGER_FIRED_BY_INSERT(trigger.tg_event) ||
      !TRIGGER_FIRED_FOR_ROW(trigger.tg_event))
    idem::tables::refuse_use(
        "idem_pin_version() must be fired BEFORE INSERT for each row",
        "Attach the machine with idem_machine_attach(..., version_col => '...').");
  Sitting *sitting = idem::machines::sitting_of(fcinfo, trigger);
  if (sitting->attachment->row_version == InvalidAttrNumber)
    idem::tables::refuse_use(
        "idem_pin_version() needs the option row_version",
        "Attach the machine with idem_machine_attach(..., version_col => '...').");
  const Edition *edition =
      idem::machines::edition_of_row(*sitting, trigger.tg_trigslot, GetCurrentCommandId(false));
  int columns[] = {sitting->attachment->row_version};
  Datum values[] = {Int32GetDatum(edition->version)};
  bool nulls[] = {false};
  return PointerGetDatum(heap_modify_tuple_by_cols(
      trigger.tg_trigtuple, RelationGetDescr(trigger.tg_relation), 1, columns, values, nulls));
}
