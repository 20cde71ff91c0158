// A SQL function that stops every other session at one page of a table, for test/t/014.

#include "server/guard.hpp"
#include "server/prelude.hpp"

extern "C" {
#include "storage/procarray.h"
}

namespace {

constexpr long kPollMillis = 1;
constexpr int kPolls = 60 * 1000;

// Holding a page defers interrupts, so that only the deadline ends the wait of a test gone wrong.
bool wait_for_end(TransactionId transaction) {
  for (int i = 0; i < kPolls && TransactionIdIsInProgress(transaction); i++) {
    (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, kPollMillis,
                    PG_WAIT_EXTENSION);
    ResetLatch(MyLatch);
  }
  return !TransactionIdIsInProgress(transaction);
}

}  // namespace

// Holds a page of the table exclusively until the transaction has ended. Who waits for the page
// shows the wait event BufferContent; this session, once it has the page, Extension.
IDEM_FUNCTION(idem_test_hold_page) {
  Relation relation = table_open(PG_GETARG_OID(0), AccessShareLock);
  const Buffer buffer = ReadBuffer(relation, static_cast<BlockNumber>(PG_GETARG_INT32(1)));
  LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
  const bool ended = wait_for_end(DatumGetTransactionId(PG_GETARG_DATUM(2)));
  UnlockReleaseBuffer(buffer);
  table_close(relation, AccessShareLock);
  if (!ended) elog(ERROR, "the transaction did not end");
  return Datum{0};
}
