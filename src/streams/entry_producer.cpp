// idem_producer: makes a producer known, or gives it the next epoch.

#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "server/rows.hpp"
#include "streams/call.hpp"
#include "streams/limits.hpp"
#include "streams/progress.hpp"
#include "streams/store.hpp"

IDEM_FUNCTION(idem_producer) {
  idem::server::require_writable("idem_producer()");
  const text *producer =
      idem::server::required_text(fcinfo, 0, "producer", idem::streams::kMaxProducerBytes);
  const text *stream = idem::streams::required_stream(fcinfo, 1);
  idem::streams::write_progress();
  const idem::streams::StreamTables tables = idem::streams::stream_tables(fcinfo, RowExclusiveLock);
  const idem::streams::StreamSettings settings = idem::streams::stream_settings(tables, stream);
  const idem::streams::Registration registration = idem::streams::register_producer(
      tables, stream, producer, settings.retain, GetCurrentTimestamp());

  Datum values[] = {Int64GetDatum(registration.id), Int32GetDatum(registration.epoch),
                    Int64GetDatum(registration.last_seq)};
  bool nulls[] = {false, false, false};
  return idem::server::row_datum(fcinfo, values, nulls);
}
