// What an id says, and ids for times and for people: idem_snowflake_parts, idem_snowflake_floor,
// idem_snowflake_text and idem_snowflake_from_text.

#include "ids/clock.hpp"
#include "ids/generator.hpp"
#include "ids/id_text.hpp"
#include "ids/layout.hpp"
#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "server/rows.hpp"

namespace {

using idem::ids::Id;

Id required_id(FunctionCallInfo fcinfo, int number) {
  const Id id = PG_GETARG_INT64(number);
  if (id < 0)
    ereport(ERROR,
            (errcode(idem::server::errcode_of(idem::sqlstate::kBadArgument)),
             errmsg("an id must not be negative"), errdetail("The value is " INT64_FORMAT ".", id),
             errhint("Pass what idem_snowflake returned.")));
  return id;
}

}  // namespace

IDEM_FUNCTION(idem_snowflake_parts) {
  const auto parts = idem::ids::unpack(required_id(fcinfo, 0));
  const auto epoch = idem::ids::epoch_of(PG_GETARG_OID(1));
  Datum values[] = {TimestampTzGetDatum(idem::ids::timestamp_of(parts.time + epoch)),
                    Int32GetDatum(parts.node), Int32GetDatum(parts.counter)};
  bool nulls[] = {false, false, false};
  return idem::server::row_datum(fcinfo, values, nulls);
}

// Infinite times are beyond all ids, too.
IDEM_FUNCTION(idem_snowflake_floor) {
  const TimestampTz at = PG_GETARG_TIMESTAMPTZ(0);
  const auto epoch = idem::ids::epoch_of(PG_GETARG_OID(1));
  if (TIMESTAMP_IS_NOBEGIN(at)) PG_RETURN_INT64(0);
  if (TIMESTAMP_IS_NOEND(at)) PG_RETURN_INT64(PG_INT64_MAX);
  PG_RETURN_INT64(idem::ids::floor_of(idem::ids::millis_of(at) - epoch));
}

IDEM_FUNCTION(idem_snowflake_text) {
  const auto text = idem::ids::text_of(PG_GETARG_INT64(0));
  return PointerGetDatum(cstring_to_text_with_len(text.data(), static_cast<int>(text.size())));
}

IDEM_FUNCTION(idem_snowflake_from_text) {
  PG_RETURN_INT64(idem::ids::id_of(idem::server::view_of(PG_GETARG_TEXT_PP(0))));
}
