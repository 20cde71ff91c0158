// What should happen to a batch of numbered messages, given how far its producer got. Plain C++: it
// reads nothing and writes nothing. The store sees to it that the state is the newest one before a
// refusal is believed, and that it has not changed when what was accepted is written.

#pragma once

#include <cstddef>
#include <cstdint>

namespace idem::streams {

// Microseconds on the server's clock; the greatest is the timestamp 'infinity'.
using Micros = std::int64_t;
inline constexpr Micros kForever = INT64_MAX;

enum class Mode : std::uint8_t {
  strict,    // each number follows the one before
  monotonic  // numbers grow, and may be left out
};

// What a stream's settings say about its producers.
struct Policy {
  Mode mode = Mode::strict;
  std::int32_t remember = 5;  // batches
  bool refuse_too_old = false;
};

// One row of idem_producers.
struct ProducerState {
  std::int32_t epoch;     // of the last registration; the first is 1
  std::int64_t last_seq;  // the greatest number accepted; 0 before the first
  Micros expires_at;
};

struct Request {
  std::int64_t epoch;  // a row may say what no producer has
  std::int64_t first;  // at least 1
  std::int64_t last;   // at least `first`
};

// A batch as it was sent; in monotonic mode its first numbers may have been accepted before.
struct Batch {
  std::int64_t first;
  std::int64_t last;
};

// Batches accepted lately, oldest first.
struct Recent {
  const Batch *batches;
  int count;
};

enum class Step : std::uint8_t {
  accept,
  duplicate,
  too_old,        // a duplicate that is not remembered, where that is refused (ID033)
  gap,            // numbers were left out (ID030)
  overlap,        // only the end of the batch is new, where that is refused (ID030)
  fenced,         // the producer was registered again since (ID031)
  unknown_epoch,  // the epoch was never given out (ID032)
  expired         // the producer was not used for too long (ID032)
};

struct Verdict {
  Step step;
  // To accept: the first number that is new. A gap or an overlap: the first number that is missing.
  std::int64_t first_new;
  // Of a duplicate: its place in Recent, or -1 when it is not remembered.
  int place;
};

// Whether an answer other than to accept stays true whatever open transactions do: they can only
// register the producer again and accept more.
bool is_final(Step step);

Verdict decide_accept(const ProducerState &producer, const Recent &recent, const Policy &policy,
                      const Request &request, Micros now);

// The right to speak for the producer, without a batch: accept, fenced, unknown_epoch or expired.
Step decide_epoch(const ProducerState &producer, std::int64_t epoch, Micros now);

// The place of the latest remembered batch that began with `first`, or -1.
int find_batch(const Recent &recent, const Policy &policy, std::int64_t first);

// When a producer that is used now expires. Moves at most once in a tenth of `retain`, because each
// move costs index entries: at least `retain` from now, at most a tenth more.
Micros keep_until(Micros expires_at, Micros retain, Micros now);

struct Selection {
  Step step;             // accept, duplicate (none is new), too_old or gap
  std::size_t place;     // to accept: of the first number that is new; otherwise of the one meant
  std::int64_t missing;  // of a gap: the first number that is missing
};

// Single messages, sorted by their numbers, each number once: which of them are new. A number is
// too old when it comes before all batches that are remembered. Says nothing of the epoch.
Selection select_new(const ProducerState &producer, const Recent &recent, const Policy &policy,
                     const std::int64_t *numbers, std::size_t count);

}  // namespace idem::streams
