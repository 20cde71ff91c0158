#include "machines/arguments.hpp"

#include "machines/definition.hpp"
#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "tables/arguments.hpp"

namespace idem::machines {

const char *machine_argument(FunctionCallInfo fcinfo, int number) {
  const text *name = server::limited_text(fcinfo, number, "machine", kMaxNameBytes);
  return name == nullptr ? nullptr : text_to_cstring(name);
}

const char *required_machine(FunctionCallInfo fcinfo, int number, const char *what) {
  return text_to_cstring(server::required_text(fcinfo, number, what, kMaxNameBytes));
}

int version_argument(FunctionCallInfo fcinfo, int number) {
  if (PG_ARGISNULL(number)) return 0;
  const int version = PG_GETARG_INT32(number);
  if (version >= 1) return version;
  ereport(ERROR, (errcode(server::errcode_of(sqlstate::kBadArgument)),
                  errmsg("version must be positive, not %d", version),
                  errhint("Leave it out for the newest version.")));
  pg_unreachable();
}

const char *required_column_name(FunctionCallInfo fcinfo, int number) {
  const char *name = tables::column_argument(fcinfo, number);
  if (name == nullptr)
    ereport(ERROR, (errcode(server::errcode_of(sqlstate::kBadArgument)),
                    errmsg("col must not be null"), errhint("Pass the column with the status.")));
  return name;
}

}  // namespace idem::machines
