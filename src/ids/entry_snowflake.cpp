// idem_snowflake and idem_snowflake_batch: handing out ids.

#include <optional>

#include "ids/clock.hpp"
#include "ids/generator.hpp"
#include "ids/last_id.hpp"
#include "ids/layout.hpp"
#include "ids/settings.hpp"
#include "server/guard.hpp"
#include "server/names.hpp"
#include "server/prelude.hpp"

namespace {

using idem::ids::Id;
using idem::ids::Millis;
using idem::ids::OpenGenerator;

constexpr int kLargestBatch = 10 * 1000 * 1000;

// How ids and the clock stand to each other, for a message.
struct Lead {
  Millis ids;    // the time of the last id, since 1970
  Millis clock;  // since 1970
};

const char *shown(Millis time) {
  return timestamptz_to_str(idem::ids::timestamp_of(time));
}

[[noreturn]] void refuse_lead(const OpenGenerator &open, const Lead &lead) {
  const char *name = idem::server::qualified_name(RelationGetRelid(open.relation));
  ereport(
      ERROR,
      (errcode(idem::server::errcode_of(idem::sqlstate::kNodeOrClock)),
       errmsg("the clock is " INT64_FORMAT " ms behind the ids of sequence %s",
              lead.ids - lead.clock, name),
       errdetail("The last id would be of %s, and idem.max_clock_back allows %d ms.",
                 pstrdup(shown(lead.ids)), idem::ids::settings.max_clock_back),
       errhint("Wait, if more than 4096 ids a millisecond were drawn; or set the clock right; or "
               "raise idem.max_clock_back, so that ids count on ahead of the clock. Setting the "
               "sequence back could repeat ids.")));
  pg_unreachable();
}

[[noreturn]] void refuse_clock(const OpenGenerator &open, Millis now) {
  ereport(ERROR, (errcode(idem::server::errcode_of(idem::sqlstate::kNodeOrClock)),
                  errmsg("the clock is before the epoch of sequence %s",
                         idem::server::qualified_name(RelationGetRelid(open.relation))),
                  errdetail("The clock says %s.", shown(now)), errhint("Set the clock right.")));
  pg_unreachable();
}

[[noreturn]] void refuse_end(const OpenGenerator &open) {
  ereport(ERROR, (errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
                  errmsg("sequence %s has no ids left",
                         idem::server::qualified_name(RelationGetRelid(open.relation))),
                  errdetail("41 bits of milliseconds since its epoch are used up."),
                  errhint("Make a sequence with a later epoch with idem_snowflake_create, for ids "
                          "of another table.")));
  pg_unreachable();
}

void require_node() {
  if (idem::ids::settings.node_id == idem::ids::kNoNode)
    ereport(ERROR, (errcode(idem::server::errcode_of(idem::sqlstate::kNodeOrClock)),
                    errmsg("this server has no number for ids"),
                    errhint("Set idem.node_id in postgresql.conf to a number from 0 to 1023 that "
                            "no other server making ids for the same data has, and reload.")));
}

// What the next ids would be.
struct Draw {
  Id given;    // the last one; 0 when there was none
  Millis now;  // since the epoch, as all here
  std::optional<Id> first;
  std::optional<Id> end;

  Millis reached() const { return end ? idem::ids::unpack(*end).time : idem::ids::kLastMillis; }
  bool too_far_ahead() const { return reached() - now > idem::ids::settings.max_clock_back; }
  bool allowed() const { return now >= 0 && end && !too_far_ahead(); }
};

Draw next_draw(const OpenGenerator &open, const idem::ids::LastId &last, Millis clock,
               std::int64_t count) {
  const Id given = idem::ids::given(last, open.generator->start);
  const Millis now = clock - open.generator->epoch;
  Draw draw = {given, now, idem::ids::next_id(given, now, idem::ids::settings.node_id),
               std::nullopt};
  if (draw.first) draw.end = idem::ids::later_id(*draw.first, count - 1);
  return draw;
}

// A sequence that has made ids had its epoch behind it once, so the clock is wrong; and so it is
// when it says that the default epoch is still to come.
[[noreturn]] void refuse_before_epoch(const OpenGenerator &open, const Draw &draw) {
  const Millis epoch = open.generator->epoch;
  if (draw.given == 0 && epoch > idem::ids::kDefaultEpoch)
    idem::ids::refuse_late_epoch(RelationGetRelid(open.relation), epoch);
  refuse_clock(open, draw.now + epoch);
}

[[noreturn]] void refuse(const OpenGenerator &open, const Draw &draw) {
  const Millis epoch = open.generator->epoch;
  if (draw.now < 0) refuse_before_epoch(open, draw);
  if (draw.too_far_ahead()) refuse_lead(open, {draw.reached() + epoch, draw.now + epoch});
  refuse_end(open);
}

// Gives `count` ids, one after the other, and returns the first.
Id draw(const OpenGenerator &open, std::int64_t count) {
  require_node();
  // Before others have to wait for us.
  const Millis clock = idem::ids::now_millis();
  auto last = idem::ids::lock_last_id(open.relation);
  Draw draw = next_draw(open, last, clock, count);
  // Others may have gone on while we waited for them.
  if (!draw.allowed()) draw = next_draw(open, last, idem::ids::now_millis(), count);
  if (!draw.allowed()) {
    // Nobody waits for the page while a message is made.
    idem::ids::unlock_last_id(last);
    refuse(open, draw);
  }
  idem::ids::move_last_id(last, *draw.end);
  idem::ids::unlock_last_id(last);
  return *draw.first;
}

Id draw_from(Oid sequence, std::int64_t count) {
  const OpenGenerator open = idem::ids::open_generator(sequence);
  const Id first = count > 0 ? draw(open, count) : 0;
  idem::ids::close_generator(open);
  return first;
}

Oid required_sequence(FunctionCallInfo fcinfo, int number) {
  if (PG_ARGISNULL(number))
    ereport(ERROR,
            (errcode(idem::server::errcode_of(idem::sqlstate::kBadArgument)),
             errmsg("seq must not be null"), errhint("Pass the sequence, or leave it out.")));
  return PG_GETARG_OID(number);
}

int required_count(FunctionCallInfo fcinfo) {
  if (PG_ARGISNULL(0))
    ereport(ERROR, (errcode(idem::server::errcode_of(idem::sqlstate::kBadArgument)),
                    errmsg("n must not be null"), errhint("Pass how many ids you need.")));
  const int count = PG_GETARG_INT32(0);
  if (count < 0 || count > kLargestBatch)
    ereport(ERROR, (errcode(idem::server::errcode_of(idem::sqlstate::kBadArgument)),
                    errmsg("n must be between 0 and %d, not %d", kLargestBatch, count)));
  return count;
}

}  // namespace

IDEM_FUNCTION(idem_snowflake) {
  PG_RETURN_INT64(draw_from(required_sequence(fcinfo, 0), 1));
}

// All of a batch are drawn at once; what is left to do row by row is counting.
IDEM_FUNCTION(idem_snowflake_batch) {
  FuncCallContext *calls;
  if (SRF_IS_FIRSTCALL()) {
    const int count = required_count(fcinfo);
    const Id first = draw_from(required_sequence(fcinfo, 1), count);
    calls = SRF_FIRSTCALL_INIT();
    calls->max_calls = static_cast<uint64>(count);
    calls->user_fctx = MemoryContextAlloc(calls->multi_call_memory_ctx, sizeof(Id));
    *static_cast<Id *>(calls->user_fctx) = first;
  }
  calls = SRF_PERCALL_SETUP();
  if (calls->call_cntr >= calls->max_calls) SRF_RETURN_DONE(calls);
  const Id first = *static_cast<Id *>(calls->user_fctx);
  const auto id = idem::ids::later_id(first, static_cast<std::int64_t>(calls->call_cntr));
  SRF_RETURN_NEXT(calls, Int64GetDatum(id.value_or(0)));
}
