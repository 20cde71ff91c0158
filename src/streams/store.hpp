// Reading and changing a row of idem_producers, without SQL where the table is an ordinary one.

#pragma once

#include "server/prelude.hpp"
#include "streams/producer.hpp"
#include "streams/table.hpp"

namespace idem::streams {

enum class Ruling {
  leave,  // nothing to write
  write,  // write what the producer was made into
  settle  // ask again when no open transaction can make it untrue any more
};

using Judge = Ruling (*)(Producer *producer, bool settled, void *argument);

// Shows the producer as last committed, or as written by this transaction, to judge(producer,
// settled, argument), which may edit it; null when it is not known in this stream. `settled` says
// that nobody else can change the row before this transaction ends, so that the judge must not
// answer `settle`. Waits for open transactions that hold the row before it settles or writes, and
// asks again if they changed it; with a transaction-wide snapshot it raises 40001 then, as it does
// for what that snapshot does not show. The judge may ereport.
//
// The table must be locked in RowExclusiveLock. What the producer points to is valid in the judge
// only.
void consult(const StreamTables &tables, const text *stream, std::int64_t id, Judge judge,
             void *argument);

template <typename Call>
void consult(const StreamTables &tables, const text *stream, std::int64_t id, Call call) {
  consult(
      tables, stream, id,
      [](Producer *producer, bool settled, void *argument) {
        return (*static_cast<Call *>(argument))(producer, settled);
      },
      &call);
}

// What registering a producer gives.
struct Registration {
  std::int64_t id;
  std::int32_t epoch;
  std::int64_t last_seq;
};

// Makes the producer known or gives it the next epoch; prolongs it by `retain` from `now`.
Registration register_producer(const StreamTables &tables, const text *stream, const text *producer,
                               Micros retain, TimestampTz now);

}  // namespace idem::streams
