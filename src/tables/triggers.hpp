// Triggers of ours on users' tables. They are the only place where it is written down what is
// attached to a table: options are their arguments, columns are what their WHEN clauses name. So
// the server itself dumps, restores and renames it, and gives it to partitions.

#pragma once

#include "server/prelude.hpp"

namespace idem::tables {

// The relation's triggers, or null, in CurrentMemoryContext: those of the relation itself are gone
// whenever an invalidation arrives, which any look-up in a catalog may have happen.
const TriggerDesc *triggers_on(Relation relation);

// The columns that a WHEN clause names, by number, each once, in the order in which it names them.
List *columns_in_when(const Trigger &trigger);

// The trigger function of this name in a schema of ours.
Oid trigger_function_in(Oid schema, const char *name);

// The tables that have a trigger with this function, each once. None of them is locked.
List *tables_with_trigger(Oid function);

// Every trigger of the database with this function, as it is in the catalog.
using TriggerVisitor = void (*)(HeapTuple trigger, TupleDesc descriptor, void *argument);
void visit_triggers(Oid function, TriggerVisitor visitor, void *argument);

// Raises 39P01: a trigger function was called in a way that makes no sense for it.
[[noreturn]] void refuse_use(const char *problem, const char *hint);

// The table and its partitions, which come to be locked in SHARE ROW EXCLUSIVE mode.
List *table_and_partitions(Oid table);

// A name that no trigger of the table or of its descendants has: the prefix, the column, the
// suffix, and a number if need be. Triggers of a column that has been renamed keep its former name.
const char *free_trigger_name(Oid table, const char *prefix, const char *column,
                              const char *suffix);

// Runs CREATE TRIGGER and the like with the rights of the caller. Operators in it are those of the
// server, whatever the caller's search_path.
void execute_definition(const char *sql);

}  // namespace idem::tables
