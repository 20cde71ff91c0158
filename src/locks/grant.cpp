#include "locks/grant.hpp"

#include "server/prelude.hpp"

namespace idem::locks {

Datum grant_datum(FunctionCallInfo fcinfo, const Grant &grant) {
  const NullableDatum columns[] = {{BoolGetDatum(grant.acquired), false},
                                   grant.token,
                                   grant.expires_at,
                                   grant.holder,
                                   grant.data,
                                   grant.after_loss,
                                   grant.depth,
                                   grant.retry_after};
  Datum values[lengthof(columns)];
  bool nulls[lengthof(columns)];
  for (std::size_t i = 0; i < lengthof(columns); i++) {
    values[i] = columns[i].value;
    nulls[i] = columns[i].isnull;
  }
  const Oid type = get_func_rettype(fcinfo->flinfo->fn_oid);
  TupleDesc descriptor = lookup_rowtype_tupdesc(type, -1);
  if (descriptor->natts != static_cast<int>(lengthof(columns)))
    elog(ERROR, "type idem_lock_grant has %d columns instead of %zu", descriptor->natts,
         lengthof(columns));
  HeapTuple tuple = heap_form_tuple(descriptor, values, nulls);
  ReleaseTupleDesc(descriptor);
  return HeapTupleGetDatum(tuple);
}

}  // namespace idem::locks
