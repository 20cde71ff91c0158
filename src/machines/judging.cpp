#include "machines/judging.hpp"

#include "machines/changes.hpp"
#include "machines/migration.hpp"
#include "server/prelude.hpp"
#include "tables/triggers.hpp"

namespace idem::machines {

namespace {

// The other machine or version that the row goes over to, where it must be in a state that exists;
// null: it stays.
const Edition *new_edition(Sitting &sitting, const Row &row, const Move &move) {
  if (sitting.attachment->row_machine == InvalidAttrNumber &&
      sitting.attachment->row_version == InvalidAttrNumber)
    return nullptr;
  const Edition *edition = edition_of_row(sitting, row.slot, row.command);
  if (edition == move.edition) return nullptr;
  Move arrival = move;
  arrival.edition = edition;
  arrival.to = position_of(sitting, edition, row.slot);
  if (arrival.to.text != nullptr && arrival.to.state == kUnknown)
    refuse(arrival, Verdict::unknown_state);
  return edition;
}

// Migration knows its states, so guards are not asked.
bool is_migrated_by(const Sitting &sitting, const Move &move, const Edition *arrival) {
  if (arrival == nullptr && move.to.state == kUnknown) return false;
  return is_migrated(*sitting.attachment, move.from.text, move.to.text);
}

// Whether the trigger fires for updates in this session. One of the user's may have a condition
// that is not ours to foresee.
bool will_fire(const Trigger &trigger) {
  const bool replica = SessionReplicationRole == SESSION_REPLICATION_ROLE_REPLICA;
  const char never = replica ? TRIGGER_FIRES_ON_ORIGIN : TRIGGER_FIRES_ON_REPLICA;
  if (trigger.tgenabled == TRIGGER_DISABLED || trigger.tgenabled == never) return false;
  return trigger.tgqual == nullptr || is_made_here(trigger);
}

void judge_by(const TriggerData &trigger, const Attachment *attachment) {
  Sitting sitting = {};
  sitting.attachment = attachment;
  sitting.context = CurrentMemoryContext;
  sitting.guards =
      static_cast<GuardFunction **>(palloc0((attachment->guards + 1) * sizeof(void *)));
  (void)judge_change(
      sitting,
      {RelationGetRelid(trigger.tg_relation), &trigger.tg_trigtuple->t_self, trigger.tg_trigtuple,
       trigger.tg_trigslot},
      {trigger.tg_relation, trigger.tg_newtuple, trigger.tg_newslot, GetCurrentCommandId(false)});
}

}  // namespace

void require(const Move &move, Verdict verdict) {
  if (verdict != Verdict::same && verdict != Verdict::allowed) refuse(move, verdict);
}

Judged judge_change(Sitting &sitting, const Former &former, const Row &row) {
  const Edition *edition = edition_of_row(sitting, former.slot, row.command);
  Move move = {sitting.attachment,
               edition,
               row.relation,
               row.slot,
               false,
               position_of(sitting, edition, former.slot),
               position_of(sitting, edition, row.slot)};
  const Edition *arrival = new_edition(sitting, row, move);
  if (!is_migrated_by(sitting, move, arrival)) {
    const Verdict verdict = judge(move);
    require(move, verdict);
    if (verdict == Verdict::same) return {false, move};
    const bool fired = is_fired(*sitting.attachment, former.table, former.address);
    ask_guards(sitting, move, former.tuple, row.tuple, fired ? firing->event : nullptr);
  }
  if (arrival != nullptr) move.edition = arrival;
  return {true, move};
}

void judge_update(const TriggerData &trigger) {
  const Oid schema = get_func_namespace(trigger.tg_trigger->tgfoid);
  const Oid function = transition_check_in(schema);
  const TriggerDesc *triggers = tables::triggers_on(trigger.tg_relation);
  for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++) {
    const Trigger &one = triggers->triggers[i];
    Attachment attachment;
    if (judges_changes(one, function) && will_fire(one) &&
        try_describe(trigger.tg_relation, one, &attachment))
      judge_by(trigger, &attachment);
  }
}

}  // namespace idem::machines
