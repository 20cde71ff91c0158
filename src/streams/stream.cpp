#include "streams/stream.hpp"

#include "server/arguments.hpp"
#include "server/compat.hpp"
#include "server/name_cache.hpp"
#include "server/prelude.hpp"
#include "server/statement.hpp"
#include "streams/limits.hpp"
#include "streams/settings.hpp"

namespace idem::streams {

namespace {

struct CachedStream {
  StreamSettings settings;
  bool has_retain;
};

server::NameCache<CachedStream, kMaxStreamBytes> cache("pg_idem streams");

server::Statement stream_statement = {
    "SELECT mode OPERATOR(pg_catalog.=) 'monotonic', remember, retain,"
    " too_old OPERATOR(pg_catalog.=) 'refuse', message_retain, refresh,"
    " member::pg_catalog.oid FROM @idem_streams WHERE stream OPERATOR(pg_catalog.=) $1",
    1,
    {TEXTOID}};

Datum read_column(int column, bool *present) {
  bool isnull;
  const Datum value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, &isnull);
  *present = !isnull;
  return isnull ? Datum{0} : value;
}

// A month counts as 30 days, so that moving a deadline needs no calendar.
Micros span_of(const Interval *interval) {
  if (server::deadline(GetCurrentTimestamp(), interval, "retain", server::Infinite::allowed,
                       false) == DT_NOEND)
    return kForever;
  const int64 days = static_cast<int64>(interval->month) * DAYS_PER_MONTH + interval->day;
  return days * USECS_PER_DAY + interval->time;
}

void read_row(CachedStream &stream) {
  StreamSettings &settings = stream.settings;
  bool present;
  settings.policy.mode = DatumGetBool(read_column(1, &present)) ? Mode::monotonic : Mode::strict;
  settings.policy.remember = DatumGetInt32(read_column(2, &present));
  const Datum retain = read_column(3, &stream.has_retain);
  if (stream.has_retain) settings.retain = span_of(DatumGetIntervalP(retain));
  settings.policy.refuse_too_old = DatumGetBool(read_column(4, &present));
  const Datum message_retain = read_column(5, &settings.has_message_retain);
  if (settings.has_message_retain) settings.message_retain = *DatumGetIntervalP(message_retain);
  settings.refresh = DatumGetBool(read_column(6, &present));
  settings.member = DatumGetObjectId(read_column(7, &present));
}

// The transaction's own snapshot may be older than an invalidation that has been processed already;
// an entry read through it would stay wrong for the rest of the session.
void read_stream(const StreamTables &tables, const text *stream, CachedStream &into) {
  Datum values[] = {PointerGetDatum(stream)};
  into.settings.policy = Policy{};
  SPI_connect();
  PushActiveSnapshot(GetLatestSnapshot());
  if (server::run(stream_statement, tables.home, values, nullptr, true, 1) == 1) read_row(into);
  PopActiveSnapshot();
  SPI_finish();
}

void require_member(Oid user, Oid member, const text *stream) {
  if (!OidIsValid(member) || has_privs_of_role(user, member)) return;
  const char *role = GetUserNameFromId(member, true);
  ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                  errmsg("permission denied for stream \"%s\"", text_to_cstring(stream)),
                  role != nullptr ? errdetail("Only members of role \"%s\" may use it.", role)
                                  : errdetail("The role whose members may use it was dropped."),
                  errhint("Have the role granted, or the stream's member changed with "
                          "idem_stream_set.")));
}

}  // namespace

StreamSettings stream_settings(const StreamTables &tables, const text *stream) {
  return stream_settings_for(tables, stream, GetUserId());
}

StreamSettings stream_settings_for(const StreamTables &tables, const text *stream, Oid role) {
  const CachedStream found = cache.look_up(
      tables.streams, stream, [&](CachedStream &into) { read_stream(tables, stream, into); });
  require_member(role, found.settings.member, stream);
  StreamSettings settings_of_stream = found.settings;
  if (!found.has_retain)
    settings_of_stream.retain = static_cast<Micros>(settings.producer_retain) * USECS_PER_SEC;
  return settings_of_stream;
}

}  // namespace idem::streams
