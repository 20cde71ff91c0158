// idem_version_check: the trigger function of version columns.

#include "machines/judging.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "tables/row.hpp"
#include "tables/triggers.hpp"
#include "versions/attachment.hpp"
#include "versions/bump.hpp"
#include "versions/decision.hpp"
#include "versions/refusal.hpp"
#include "versions/stamp.hpp"

namespace {

using idem::versions::Attachment;
using idem::versions::Conflict;
using idem::versions::Verdict;

const Attachment *attachment_of(FunctionCallInfo fcinfo) {
  if (!CALLED_AS_TRIGGER(fcinfo))
    idem::tables::refuse_use("function idem_version_check() must be called as a trigger",
                             "Attach it to a table with idem_version_attach.");
  // The same for every row of the statement.
  FmgrInfo *function = fcinfo->flinfo;
  if (function->fn_extra != nullptr) return static_cast<const Attachment *>(function->fn_extra);
  const auto &trigger = *reinterpret_cast<const TriggerData *>(fcinfo->context);
  if (!TRIGGER_FIRED_BY_UPDATE(trigger.tg_event) || !TRIGGER_FIRED_BEFORE(trigger.tg_event) ||
      !TRIGGER_FIRED_FOR_ROW(trigger.tg_event))
    idem::tables::refuse_use(
        "idem_version_check() must be fired BEFORE UPDATE for each row",
        "Write BEFORE UPDATE ON ... FOR EACH ROW in CREATE TRIGGER, or attach it with "
        "idem_version_attach.");
  const Attachment *attachment =
      idem::versions::attachment_of(trigger.tg_relation, *trigger.tg_trigger);
  function->fn_extra = const_cast<Attachment *>(attachment);
  return attachment;
}

// A column that has no version yet counts as being at 0.
std::int64_t version_in(TupleTableSlot *slot, const Attachment &attachment, bool *isnull) {
  const Datum value = slot_getattr(slot, attachment.column, isnull);
  if (*isnull) return 0;
  return attachment.big ? DatumGetInt64(value) : DatumGetInt32(value);
}

// Most values have not been touched, and are the same to the byte: a look at what is behind a
// TOAST pointer is spared.
bool is_same(Form_pg_attribute column, Datum former, Datum value) {
  if (column->attlen == -1 &&
      VARSIZE_ANY(DatumGetPointer(former)) == VARSIZE_ANY(DatumGetPointer(value)) &&
      memcmp(DatumGetPointer(former), DatumGetPointer(value),
             VARSIZE_ANY(DatumGetPointer(former))) == 0)
    return true;
  return datum_image_eq(former, value, column->attbyval, column->attlen);
}

// Whether the statement has written the version itself. In mode client that may be all that tells a
// stale update: somebody else's can have left the very row that this one wants to store.
bool claims_to_count(const TriggerData &trigger, const Attachment &attachment) {
  return attachment.mode == idem::versions::Mode::client &&
         bms_is_member(attachment.column - FirstLowInvalidHeapAttributeNumber,
                       trigger.tg_updatedcols);
}

// Whether the update changes nothing but what is ignored. Generated columns are not computed yet.
bool changes_nothing_else(const TriggerData &trigger, const Attachment &attachment) {
  TupleTableSlot *former = trigger.tg_trigslot;
  TupleTableSlot *row = trigger.tg_newslot;
  const TupleDesc descriptor = RelationGetDescr(trigger.tg_relation);
  slot_getallattrs(former);
  slot_getallattrs(row);
  for (int i = 0; i < descriptor->natts; i++) {
    const Form_pg_attribute column = TupleDescAttr(descriptor, i);
    if (attachment.ignores[i] || column->attisdropped || column->attgenerated != '\0') continue;
    if (former->tts_isnull[i] != row->tts_isnull[i]) return false;
    if (!former->tts_isnull[i] && !is_same(column, former->tts_values[i], row->tts_values[i]))
      return false;
  }
  return true;
}

bool is_ignored(const TriggerData &trigger, const Attachment &attachment, bool swapped) {
  if (attachment.ignored == 0 || (swapped && idem::versions::swap.raises)) return false;
  return !claims_to_count(trigger, attachment) && changes_nothing_else(trigger, attachment);
}

[[noreturn]] void refuse(const TriggerData &trigger, const Conflict &conflict, Verdict verdict) {
  // A machine has the first word about what may happen to a row at all.
  idem::machines::judge_update(trigger);
  idem::versions::refuse(
      conflict, verdict,
      idem::tables::row_for_message(trigger.tg_relation, InvalidAttrNumber, trigger.tg_trigslot));
}

}  // namespace

IDEM_FUNCTION(idem_version_check) {
  const Attachment &attachment = *attachment_of(fcinfo);
  const auto &trigger = *reinterpret_cast<const TriggerData *>(fcinfo->context);
  bool stored_null;
  bool written_null;
  const std::int64_t stored = version_in(trigger.tg_trigslot, attachment, &stored_null);
  const bool swapped = idem::versions::take_swap(trigger.tg_relation, stored);
  if (is_ignored(trigger, attachment, swapped)) return PointerGetDatum(trigger.tg_newtuple);
  const std::int64_t written = version_in(trigger.tg_newslot, attachment, &written_null);
  const std::int64_t last = attachment.big ? PG_INT64_MAX : PG_INT32_MAX;
  const auto mode = swapped ? idem::versions::Mode::where : attachment.mode;
  const Verdict verdict = written_null && !stored_null
                              ? Verdict::stale
                              : idem::versions::judge(mode, stored, written, last);
  if (unlikely(verdict != Verdict::passes))
    refuse(trigger, {trigger.tg_relation, &attachment, stored, written_null, written}, verdict);
  return PointerGetDatum(idem::versions::stamp(trigger, attachment, stored + 1));
}
