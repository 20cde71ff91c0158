// idem_snowflake_create: a sequence that makes ids.

#include "ids/clock.hpp"
#include "ids/generator.hpp"
#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "server/statement.hpp"

namespace {

using idem::ids::Millis;

constexpr std::size_t kMaxNameBytes = 512;

const RangeVar *required_name(FunctionCallInfo fcinfo) {
  const text *name = idem::server::required_text(fcinfo, 0, "name", kMaxNameBytes);
  return makeRangeVarFromNameList(textToQualifiedNameList(const_cast<text *>(name)));
}

// Ids hold the time in whole milliseconds.
Millis required_epoch(FunctionCallInfo fcinfo) {
  if (PG_ARGISNULL(1))
    ereport(ERROR, (errcode(idem::server::errcode_of(idem::sqlstate::kBadArgument)),
                    errmsg("epoch must not be null"), errhint("Leave it out for 2025-01-01 UTC.")));
  const Millis epoch = idem::ids::millis_of(idem::ids::finite_time(fcinfo, 1, "epoch"));
  if (epoch < idem::ids::kFirstEpoch || epoch > idem::ids::now_millis())
    ereport(ERROR,
            (errcode(idem::server::errcode_of(idem::sqlstate::kBadArgument)),
             errmsg("epoch must lie between the year 2000 and now"),
             errhint("Ids count time from the epoch, for 69 years. Leave it out for 2025-01-01 "
                     "UTC.")));
  return epoch;
}

// The name with the schema that the sequence goes to. Without one, a temporary table or the catalog
// could have a relation of the same name, which would be found first.
const RangeVar *with_schema(const RangeVar *name) {
  char *schema = get_namespace_name(RangeVarGetCreationNamespace(name));
  return makeRangeVar(schema, name->relname, -1);
}

void create(const RangeVar *name, Millis epoch) {
  const char *sql = psprintf("CREATE SEQUENCE %s AS pg_catalog.int8 START WITH " INT64_FORMAT
                             " INCREMENT BY 1 NO MAXVALUE MINVALUE 1 CACHE 1 NO CYCLE",
                             quote_qualified_identifier(name->schemaname, name->relname), epoch);
  idem::server::execute_for_caller(sql);
}

}  // namespace

IDEM_FUNCTION(idem_snowflake_create) {
  const RangeVar *given = required_name(fcinfo);
  const Millis epoch = required_epoch(fcinfo);
  idem::server::require_writable("idem_snowflake_create()");
  const RangeVar *name = with_schema(given);
  create(name, epoch);
  PG_RETURN_OID(RangeVarGetRelid(name, NoLock, false));
}
