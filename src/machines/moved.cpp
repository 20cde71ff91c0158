#include "machines/moved.hpp"

#include "server/prelude.hpp"

namespace idem::machines {

namespace {

// A row that moves is told from others by the command: the same one deletes it here and inserts it
// there, and fires the triggers of the one right before those of the other. What they do in turn
// are commands of their own.
struct Moving {
  CommandId command;
  bool under_way;
  MemoryContext context;  // of what follows
  const char *label;
  FormerRow row;
  Moving *next;
};
Moving *moving = nullptr;
FullTransactionId moving_in = {};

// The memory of another transaction is gone.
void forget_others() {
  const FullTransactionId now = GetTopFullTransactionId();
  if (!FullTransactionIdEquals(moving_in, now)) moving = nullptr;
  moving_in = now;
}

Moving *find(const char *label, CommandId command) {
  for (Moving *one = moving; one != nullptr; one = one->next)
    if (one->under_way && one->command == command && strcmp(one->label, label) == 0) return one;
  return nullptr;
}

// One that never arrived, because a trigger there would not have it, makes room for the next.
Moving *place_for(const char *label, CommandId command) {
  Moving *one = find(label, command);
  for (Moving *other = moving; one == nullptr && other != nullptr; other = other->next)
    if (!other->under_way) one = other;
  if (one != nullptr) {
    MemoryContextReset(one->context);
    return one;
  }
  one = static_cast<Moving *>(MemoryContextAllocZero(TopTransactionContext, sizeof(Moving)));
  one->context =
      AllocSetContextCreate(TopTransactionContext, "pg_idem moving row", ALLOCSET_SMALL_SIZES);
  one->next = moving;
  moving = one;
  return one;
}

}  // namespace

bool has_moved(HeapTuple deleted) {
  return HeapTupleHeaderIndicatesMovedPartitions(deleted->t_data);
}

void remember_moved(const Attachment &attachment, Relation relation, HeapTuple deleted) {
  forget_others();
  const CommandId command = HeapTupleHeaderGetCmax(deleted->t_data);
  Moving *one = place_for(attachment.label, command);
  const MemoryContext caller = MemoryContextSwitchTo(one->context);
  one->under_way = false;
  one->command = command;
  one->label = pstrdup(attachment.label);
  one->row = {RelationGetRelid(relation), deleted->t_self, heap_copytuple(deleted),
              CreateTupleDescCopy(RelationGetDescr(relation))};
  one->under_way = true;
  MemoryContextSwitchTo(caller);
}

const FormerRow *take_moved(const Attachment &attachment, HeapTuple inserted) {
  if (moving == nullptr) return nullptr;
  forget_others();
  if (moving == nullptr) return nullptr;
  Moving *one = find(attachment.label, HeapTupleHeaderGetCmin(inserted->t_data));
  if (one == nullptr) return nullptr;
  one->under_way = false;
  return &one->row;
}

}  // namespace idem::machines
