// What calls of streams have in common: their arguments, and the stream that they work for.

#pragma once

#include "server/prelude.hpp"
#include "streams/producer.hpp"
#include "streams/stream.hpp"
#include "streams/table.hpp"

namespace idem::streams {

struct Call {
  StreamTables tables;
  const text *stream;
  StreamSettings settings;
  std::int64_t producer_id;
  std::int64_t epoch;
  TimestampTz now;
};

// The arguments stream, producer_id and epoch, which come first. Locks the tables for writing.
Call read_call(FunctionCallInfo fcinfo, const char *function);

// This call is a use of the producer, which then expires later. Whether that has to be written
// down.
bool prolong(ProducerState &producer, const Call &call);

// A number of a message, which must be 1 or more.
std::int64_t required_number(FunctionCallInfo fcinfo, int number, const char *what);

const text *required_stream(FunctionCallInfo fcinfo, int number);

// The argument `result`. Raises ID413 when it has more than kMaxResultBytes.
NullableDatum given_result(FunctionCallInfo fcinfo, int number);

}  // namespace idem::streams
