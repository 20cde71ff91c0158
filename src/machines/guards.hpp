// Functions of the user that may veto a transition.

#pragma once

#include "machines/judge.hpp"
#include "server/prelude.hpp"

namespace idem::machines {

// A guard, found and checked.
struct GuardFunction {
  FmgrInfo function;
  bool sees_former;   // f(former row, row) rather than f(row)
  bool gives_reason;  // text, where NULL lets pass, rather than boolean
  Oid row_of;         // the table whose row type it takes: the relation or a parent of it
};

// The function of a guard for rows of a table, or InvalidOid. Minds no rights.
Oid guard_function_of(const Guard &guard, Oid table);

// Whether a machine has the event or the transition that a guard is for.
bool names_transition(const Machine &machine, const char *transition);

// Finds a guard's function, in CurrentMemoryContext. Raises ID006 when it is not there, and ID400
// when it cannot be a guard for the relation.
GuardFunction find_guard(const Guard &guard, Relation relation);

// Whether a guard has a say in a transition; `event` is the event being fired, or null for a plain
// write, in which all events of the transition count.
bool concerns(const Guard &guard, const Machine &machine, StateIndex from, StateIndex to,
              const char *event);

// The reason why the guard refuses ("" from one that gives none), or null: it does not. Runs the
// user's function as the current user. `former` and `row` are as the relation has them.
const char *reason_against(const GuardFunction &guard, Relation relation, HeapTuple former,
                           HeapTuple row);

// Raises ID005 with the reason.
[[noreturn]] void refuse_by_guard(const Move &move, const Guard &guard, const char *reason);

}  // namespace idem::machines
