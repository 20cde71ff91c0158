#include "server/rows.hpp"

#include "server/prelude.hpp"

namespace idem::server {

Rows begin_rows(FunctionCallInfo fcinfo) {
  auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
  if (result == nullptr || !IsA(result, ReturnSetInfo) ||
      (result->allowedModes & SFRM_Materialize) == 0)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("set-valued function called in context that cannot accept a set"),
                    errhint("Call it in the FROM clause.")));
  const MemoryContext caller = MemoryContextSwitchTo(result->econtext->ecxt_per_query_memory);
  Rows rows;
  if (get_call_result_type(fcinfo, nullptr, &rows.descriptor) != TYPEFUNC_COMPOSITE)
    elog(ERROR, "return type must be a row type");
  rows.store =
      tuplestore_begin_heap((result->allowedModes & SFRM_Materialize_Random) != 0, false, work_mem);
  result->returnMode = SFRM_Materialize;
  result->setResult = rows.store;
  result->setDesc = rows.descriptor;
  MemoryContextSwitchTo(caller);
  return rows;
}

}  // namespace idem::server
