#include "locks/answer.hpp"

#include "server/prelude.hpp"

namespace idem::locks {

Answer answer_of(bool acquired) {
  constexpr NullableDatum kNull = {0, true};
  return {acquired, kNull, kNull, kNull, kNull, kNull, kNull, kNull};
}

Datum answer_datum(FunctionCallInfo fcinfo, const Answer &answer) {
  const NullableDatum columns[] = {{BoolGetDatum(answer.acquired), false},
                                   answer.token,
                                   answer.expires_at,
                                   answer.holder,
                                   answer.data,
                                   answer.after_loss,
                                   answer.depth,
                                   answer.retry_after};
  TupleDesc descriptor;
  if (get_call_result_type(fcinfo, nullptr, &descriptor) != TYPEFUNC_COMPOSITE ||
      descriptor->natts != static_cast<int>(lengthof(columns)))
    elog(ERROR, "the function does not return idem_lock_grant");
  Datum values[lengthof(columns)];
  bool nulls[lengthof(columns)];
  for (std::size_t i = 0; i < lengthof(columns); i++) {
    values[i] = columns[i].value;
    nulls[i] = columns[i].isnull;
  }
  return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls));
}

}  // namespace idem::locks
