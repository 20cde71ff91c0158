// What judging the rows of one statement needs, put together once for all of them.

#pragma once

#include "machines/attachment.hpp"
#include "machines/guards.hpp"
#include "machines/judge.hpp"
#include "server/prelude.hpp"
#include "tables/row.hpp"

namespace idem::machines {

// In the memory of the statement; see sitting_of.
struct Sitting {
  const Attachment *attachment;
  MemoryContext context;
  List *maps;              // StateMap *, the one used last first
  GuardFunction **guards;  // in step with the attachment's; null: not needed yet
  tables::RowKey key;
  bool knows_key;
  bool collects;  // the end of the statement is told, so that the history can wait for it
};

// Kept in the trigger's call information between the rows of a statement.
Sitting *sitting_of(FunctionCallInfo fcinfo, const TriggerData &trigger);

// The edition by which a row is judged: its own machine and version, or those of the attachment.
// `command` wrote the row.
const Edition *edition_of_row(Sitting &sitting, TupleTableSlot *slot, CommandId command);

// Where a row stands under an edition.
Position position_of(Sitting &sitting, const Edition *edition, TupleTableSlot *slot);

// Asks the guards that are concerned, and says why the first that refuses does; null: none does.
// `number` says which one it was, unless null.
const char *first_refusal(Sitting &sitting, const Move &move, HeapTuple former, HeapTuple row,
                          const char *event, int *number = nullptr);

// Raises ID005 for the first that refuses.
void ask_guards(Sitting &sitting, const Move &move, HeapTuple former, HeapTuple row,
                const char *event);

}  // namespace idem::machines
