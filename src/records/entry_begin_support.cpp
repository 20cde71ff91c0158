// Planner support for idem_begin. The executor prepares each argument of a function in FROM by
// itself, which for nine arguments costs more than finding the record. Most calls leave all but the
// first three at their defaults; those are turned into calls of idem_begin_short.

#include "server/compat.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace {

constexpr int kArguments = 9;
constexpr int kShortArguments = 3;

// NULL and false are what an argument that is left out means.
bool is_left_out(const Node *argument) {
  if (!IsA(argument, Const)) return false;
  const auto *constant = reinterpret_cast<const Const *>(argument);
  return constant->constisnull ||
         (constant->consttype == BOOLOID && !DatumGetBool(constant->constvalue));
}

bool is_short(const FuncExpr *call) {
  if (list_length(call->args) != kArguments) return false;
  for (int i = kShortArguments; i < kArguments; i++) {
    if (!is_left_out(static_cast<Node *>(list_nth(call->args, i)))) return false;
  }
  return true;
}

Oid short_function(Oid schema) {
  const Oid types[kShortArguments] = {TEXTOID, TEXTOID, BYTEAOID};
  return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum("idem_begin_short"),
                         PointerGetDatum(buildoidvector(types, kShortArguments)),
                         ObjectIdGetDatum(schema));
}

// The plan must be made again for another role, who may not have the same grants; without a planner
// to tell, the call stays as it is.
Node *simplify(const SupportRequestSimplify *request) {
  const FuncExpr *call = request->fcall;
  if (request->root == nullptr || !is_short(call)) return nullptr;
  const Oid function = short_function(get_func_namespace(call->funcid));
  // Whoever was granted idem_begin alone, by hand, keeps calling it, and whoever was denied it, by
  // hand, stays denied.
  if (!OidIsValid(function) || !idem::server::may_execute(GetUserId(), function) ||
      !idem::server::may_execute(GetUserId(), call->funcid))
    return nullptr;
  request->root->glob->dependsOnRole = true;
  List *arguments = list_truncate(list_copy(call->args), kShortArguments);
  return reinterpret_cast<Node *>(makeFuncExpr(function, call->funcresulttype, arguments,
                                               call->funccollid, call->inputcollid,
                                               call->funcformat));
}

}  // namespace

IDEM_FUNCTION(idem_begin_support) {
  auto *request = reinterpret_cast<Node *>(PG_GETARG_POINTER(0));
  if (!IsA(request, SupportRequestSimplify)) return PointerGetDatum(nullptr);
  return PointerGetDatum(simplify(reinterpret_cast<SupportRequestSimplify *>(request)));
}
