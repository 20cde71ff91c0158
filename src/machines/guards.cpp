#include "machines/guards.hpp"

#include "server/compat.hpp"
#include "server/guard.hpp"
#include "server/inheritance.hpp"
#include "server/prelude.hpp"
#include "tables/row.hpp"

namespace idem::machines {

namespace {

// A guard is known by its name and found by the row type, so that renaming the table does no harm.
Oid function_for(List *name, Oid row_type, int arguments) {
  const Oid schema = get_namespace_oid(strVal(linitial(name)), true);
  const Oid types[] = {row_type, row_type};
  if (!OidIsValid(schema) || !OidIsValid(row_type)) return InvalidOid;
  return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(strVal(lsecond(name))),
                         PointerGetDatum(buildoidvector(types, arguments)),
                         ObjectIdGetDatum(schema));
}

[[noreturn]] void refuse_missing(const Guard &guard, Relation relation) {
  ereport(ERROR,
          (errcode(server::errcode_of(sqlstate::kNoMachine)),
           errmsg("guard function %s does not exist", guard.function),
           errdetail("It guards \"%s\" and takes %s of table \"%s\".", guard.transition,
                     guard.rows == 1 ? "a row" : "two rows", RelationGetRelationName(relation)),
           errhint("Create it again, or attach the machine again with other guards.")));
  pg_unreachable();
}

[[noreturn]] void refuse_function(const Guard &guard, Relation relation) {
  ereport(ERROR,
          (errcode(server::errcode_of(sqlstate::kBadArgument)),
           errmsg("function %s cannot be a guard of table \"%s\"", guard.function,
                  RelationGetRelationName(relation)),
           errhint("A guard takes the row, or the row before and after, as a value of the table's "
                   "row type, and returns text (NULL lets pass, anything else is the reason why "
                   "not) or boolean (true lets pass).")));
  pg_unreachable();
}

Datum row_value(Relation relation, Oid row_of, HeapTuple tuple) {
  if (row_of == RelationGetRelid(relation))
    return heap_copy_tuple_as_datum(tuple, RelationGetDescr(relation));
  Relation parent = table_open(row_of, AccessShareLock);
  TupleConversionMap *map =
      convert_tuples_by_name(RelationGetDescr(relation), RelationGetDescr(parent));
  HeapTuple converted = map == nullptr ? tuple : execute_attr_map_tuple(tuple, map);
  const Datum value = heap_copy_tuple_as_datum(converted, RelationGetDescr(parent));
  table_close(parent, AccessShareLock);
  return value;
}

const char *reason_of(const GuardFunction &guard, FunctionCallInfo call, Datum result) {
  if (guard.gives_reason) return call->isnull ? nullptr : TextDatumGetCString(result);
  return !call->isnull && DatumGetBool(result) ? nullptr : "";
}

}  // namespace

Oid guard_function_of(const Guard &guard, Oid table) {
  List *name = textToQualifiedNameList(cstring_to_text(guard.function));
  if (list_length(name) != 2) return InvalidOid;
  // Of the table that the machine is attached to: a function of the same name for one of its
  // partitions may be anybody's.
  const Oid attached =
      get_rel_relispartition(table) ? llast_oid(server::ancestors_of(table)) : table;
  return function_for(name, get_rel_type_id(attached), guard.rows);
}

bool names_transition(const Machine &machine, const char *transition) {
  for (std::int32_t i = 0; i < machine.transitions; i++) {
    const CompiledTransition &one = machine.transition[i];
    if (one.event != nullptr && strcmp(one.event, transition) == 0) return true;
    if (strcmp(psprintf("%s --> %s", machine.state[one.from].name, machine.state[one.to].name),
               transition) == 0)
      return true;
  }
  return false;
}

GuardFunction find_guard(const Guard &guard, Relation relation) {
  GuardFunction found = {};
  const Oid function = guard_function_of(guard, RelationGetRelid(relation));
  if (!OidIsValid(function)) refuse_missing(guard, relation);
  Oid *types;
  int count;
  const Oid result = get_func_signature(function, &types, &count);
  found.sees_former = count == 2;
  found.gives_reason = result == TEXTOID || result == VARCHAROID;
  if (get_func_retset(function) || get_func_prokind(function) != PROKIND_FUNCTION ||
      (!found.gives_reason && result != BOOLOID))
    refuse_function(guard, relation);
  found.row_of = get_typ_typrelid(types[0]);
  if (!server::may_execute(GetUserId(), function))
    aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FUNCTION, get_func_name(function));
  fmgr_info(function, &found.function);
  return found;
}

bool concerns(const Guard &guard, const Machine &machine, StateIndex from, StateIndex to,
              const char *event) {
  const char *pair = psprintf("%s --> %s", machine.state[from].name, machine.state[to].name);
  if (strcmp(guard.transition, pair) == 0) return true;
  if (event != nullptr && strcmp(guard.transition, event) != 0) return false;
  for (std::int32_t i = 0; i < machine.transitions; i++) {
    const CompiledTransition &transition = machine.transition[i];
    if (transition.from == from && transition.to == to && transition.event != nullptr &&
        strcmp(transition.event, guard.transition) == 0)
      return true;
  }
  return false;
}

const char *reason_against(const GuardFunction &guard, Relation relation, HeapTuple former,
                           HeapTuple row) {
  LOCAL_FCINFO(call, 2);
  auto *function = const_cast<FmgrInfo *>(&guard.function);
  const Datum value = row_value(relation, guard.row_of, row);
  InitFunctionCallInfoData(*call, function, guard.sees_former ? 2 : 1, InvalidOid, nullptr,
                           nullptr);
  call->args[0] = {guard.sees_former ? row_value(relation, guard.row_of, former) : value, false};
  call->args[1] = {value, false};
  return reason_of(guard, call, FunctionCallInvoke(call));
}

void refuse_by_guard(const Move &move, const Guard &guard, const char *reason) {
  ereport(ERROR,
          (errcode(server::errcode_of(sqlstate::kGuardRefused)),
           reason[0] == '\0'
               ? errmsg("guard %s refused \"%s\"", guard.function, guard.transition)
               : errmsg("guard %s refused \"%s\": %s", guard.function, guard.transition, reason),
           errdetail("Machine \"%s\", version %d, from \"%s\" to \"%s\".%s", move.edition->name,
                     move.edition->version, move.from.text == nullptr ? "NULL" : move.from.text,
                     move.to.text,
                     tables::row_for_message(move.relation, move.attachment->column, move.slot)),
           errtablecol(move.relation, move.attachment->column)));
  pg_unreachable();
}

}  // namespace idem::machines
