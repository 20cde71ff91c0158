#include "versions/stamp.hpp"

#include "server/prelude.hpp"

namespace idem::versions {

namespace {

Datum datum_of(const Attachment &attachment, std::int64_t version) {
  return attachment.big ? Int64GetDatum(version) : Int32GetDatum(static_cast<int32>(version));
}

// Where the row has the column, which is not null.
char *place_in(HeapTuple tuple, TupleDesc descriptor, AttrNumber column) {
  const HeapTupleHeader header = tuple->t_data;
  const bool has_nulls = HeapTupleHasNulls(tuple);
  char *data = reinterpret_cast<char *>(header) + header->t_hoff;
  Size at = 0;
  for (int i = 0; i < column; i++) {
    if (has_nulls && att_isnull(i, header->t_bits)) continue;
    const Form_pg_attribute attribute = TupleDescAttr(descriptor, i);
    at = att_align_pointer(at, attribute->attalign, attribute->attlen, data + at);
    if (i + 1 < column) at = att_addlength_pointer(at, attribute->attlen, data + at);
  }
  return data + at;
}

// Whether the row that the trigger was given is the slot's own, and not a copy of it or a row in a
// buffer: what is written to it is stored, and nobody else sees it.
bool owns_row(TupleTableSlot *slot, HeapTuple tuple) {
  return (TTS_IS_BUFFERTUPLE(slot) || TTS_IS_HEAPTUPLE(slot)) && TTS_SHOULDFREE(slot) &&
         reinterpret_cast<HeapTupleTableSlot *>(slot)->tuple == tuple;
}

bool has_value(HeapTuple tuple, AttrNumber column) {
  return HeapTupleHeaderGetNatts(tuple->t_data) >= column &&
         !(HeapTupleHasNulls(tuple) && att_isnull(column - 1, tuple->t_data->t_bits));
}

}  // namespace

HeapTuple stamp(const TriggerData &trigger, const Attachment &attachment, std::int64_t version) {
  TupleTableSlot *slot = trigger.tg_newslot;
  HeapTuple tuple = trigger.tg_newtuple;
  const TupleDesc descriptor = RelationGetDescr(trigger.tg_relation);
  Datum value = datum_of(attachment, version);
  if (!owns_row(slot, tuple) || !has_value(tuple, attachment.column)) {
    int column = attachment.column;
    bool isnull = false;
    return heap_modify_tuple_by_cols(tuple, descriptor, 1, &column, &value, &isnull);
  }
  char *place = place_in(tuple, descriptor, attachment.column);
  const auto narrow = static_cast<int32>(version);
  if (attachment.big)
    memcpy(place, &version, sizeof(version));
  else
    memcpy(place, &narrow, sizeof(narrow));
  // The slot may have read the row already.
  if (slot->tts_nvalid >= attachment.column) slot->tts_values[attachment.column - 1] = value;
  return tuple;
}

}  // namespace idem::versions
