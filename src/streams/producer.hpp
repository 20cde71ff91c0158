// A row of idem_producers in memory, and what is remembered of its last batches.

#pragma once

#include "server/prelude.hpp"
#include "streams/decision.hpp"
#include "streams/table.hpp"

namespace idem::streams {

// Oldest first. `hashes` and `results` are null while there would be nulls only.
struct Window {
  Recent recent;
  NullableDatum *hashes;
  NullableDatum *results;
};

// Datums may point into the row, and are valid as long as it is held.
struct Producer {
  std::int64_t id;
  ProducerState state;
  Window window;
};

// `values` and `nulls` are in the order of Column. Raises XX001 when arrays do not fit together,
// which takes an edit by hand.
Producer read_producer(const Datum *values, const bool *nulls);

// Replaces those that accepting changes.
void write_producer(const Producer &producer, Datum *values, bool *nulls);

// Adds a batch, and forgets those that the stream does not remember.
void append(Producer &producer, const Batch &batch, NullableDatum hash, NullableDatum result,
            const Policy &policy);

// Adds several, the last of which ends with the greatest number, without hashes or results.
void append_plain(Producer &producer, const Batch *batches, int count, const Policy &policy);

// What is kept of the batch at a place.
NullableDatum hash_at(const Window &window, int place);
NullableDatum result_at(const Window &window, int place);
void set_result(Window &window, int place, NullableDatum result);

}  // namespace idem::streams
