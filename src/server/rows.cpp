#include "server/rows.hpp"

#include "server/prelude.hpp"

namespace idem::server {

namespace {

// A set of values that are no rows has rows of one column.
TupleDesc descriptor_of(FunctionCallInfo fcinfo) {
  TupleDesc descriptor;
  Oid type;
  switch (get_call_result_type(fcinfo, &type, &descriptor)) {
    case TYPEFUNC_COMPOSITE:
      return descriptor;
    case TYPEFUNC_SCALAR:
      descriptor = CreateTemplateTupleDesc(1);
      TupleDescInitEntry(descriptor, 1, "value", type, -1, 0);
      return descriptor;
    default:
      elog(ERROR, "return type must be known");
  }
  pg_unreachable();
}

}  // namespace

Rows begin_rows(FunctionCallInfo fcinfo) {
  auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
  if (result == nullptr || !IsA(result, ReturnSetInfo) ||
      (result->allowedModes & SFRM_Materialize) == 0)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("set-valued function called in context that cannot accept a set"),
                    errhint("Call it in the FROM clause.")));
  const MemoryContext caller = MemoryContextSwitchTo(result->econtext->ecxt_per_query_memory);
  Rows rows;
  rows.descriptor = descriptor_of(fcinfo);
  rows.store =
      tuplestore_begin_heap((result->allowedModes & SFRM_Materialize_Random) != 0, false, work_mem);
  result->returnMode = SFRM_Materialize;
  result->setResult = rows.store;
  result->setDesc = rows.descriptor;
  MemoryContextSwitchTo(caller);
  return rows;
}

Datum row_datum(FunctionCallInfo fcinfo, const Datum *values, const bool *nulls) {
  TupleDesc descriptor;
  if (get_call_result_type(fcinfo, nullptr, &descriptor) != TYPEFUNC_COMPOSITE)
    elog(ERROR, "return type must be a row type");
  // Older servers do not say that they only read the values.
  return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), const_cast<Datum *>(values),
                                           const_cast<bool *>(nulls)));
}

}  // namespace idem::server
