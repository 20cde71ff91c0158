// idem_allowed_events: what can happen to a row, for the buttons of a user interface.

#include "machines/arguments.hpp"
#include "machines/guards.hpp"
#include "machines/subject.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "server/rows.hpp"
#include "tables/arguments.hpp"

namespace {

using idem::machines::Attachment;
using idem::machines::CompiledState;
using idem::machines::CompiledTransition;
using idem::machines::Move;
using idem::machines::Subject;
using idem::tables::KeyCondition;

// The row as the event would leave it, as far as the machine knows.
HeapTuple row_after(Subject &subject, idem::machines::StateIndex to) {
  const Attachment &attachment = *subject.sitting.attachment;
  const idem::machines::StateMap *map =
      idem::machines::map_states(attachment.type, subject.edition);
  int columns[] = {attachment.column};
  Datum values[] = {map->values[to].value};
  bool nulls[] = {map->values[to].isnull};
  return heap_modify_tuple_by_cols(ExecFetchSlotHeapTuple(subject.slot, false, nullptr),
                                   subject.slot->tts_tupleDescriptor, 1, columns, values, nulls);
}

// Why a guard would refuse, or null.
const char *refusal_of(Subject &subject, const CompiledTransition &transition) {
  if (subject.sitting.attachment->guards == 0) return nullptr;
  const CompiledState *states = subject.edition->machine->state;
  const Move move = {subject.sitting.attachment,
                     subject.edition,
                     subject.relation,
                     subject.slot,
                     false,
                     subject.position,
                     {transition.to, states[transition.to].name}};
  int guard;
  const char *reason = idem::machines::first_refusal(
      subject.sitting, move, ExecFetchSlotHeapTuple(subject.slot, false, nullptr),
      row_after(subject, transition.to), transition.event, &guard);
  if (reason == nullptr || reason[0] != '\0') return reason;
  return psprintf("guard %s refuses", subject.sitting.attachment->guard[guard].function);
}

void add_events(Subject &subject, const idem::server::Rows &rows) {
  const idem::machines::Machine &machine = *subject.edition->machine;
  for (std::int32_t i = 0; i < machine.transitions; i++) {
    const CompiledTransition &transition = machine.transition[i];
    if (transition.from != subject.position.state || transition.event == nullptr) continue;
    const char *refusal = refusal_of(subject, transition);
    Datum values[] = {CStringGetTextDatum(transition.event),
                      CStringGetTextDatum(machine.state[transition.to].name),
                      refusal == nullptr ? Datum{0} : CStringGetTextDatum(refusal)};
    bool nulls[] = {false, false, refusal == nullptr};
    rows.add(values, nulls);
  }
}

}  // namespace

IDEM_FUNCTION(idem_allowed_events) {
  Relation relation = idem::tables::open_table(fcinfo, 0, AccessShareLock, ACL_SELECT);
  Jsonb *row_key = idem::tables::required_key(fcinfo, 1);
  const idem::server::Rows rows = idem::server::begin_rows(fcinfo);
  const Attachment *attachment =
      idem::machines::find_attachment(relation, get_func_namespace(fcinfo->flinfo->fn_oid),
                                      idem::tables::column_argument(fcinfo, 2));
  const KeyCondition key = idem::tables::read_key(relation, attachment->column, row_key);
  Subject subject = idem::machines::find_subject(relation, attachment, key, false);
  add_events(subject, rows);
  relation_close(relation, NoLock);
  return Datum{0};
}
