#include "machines/event_memory.hpp"

#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace idem::machines {

namespace {

// Their retention is that of the scope: idem_scope_set('idem.event', retain => ...).
#define SCOPE "'idem.event'"

constexpr int kMaxEventId = 512;

// An id is known for one row; the hash keeps keys of any size within the limit of records.
server::Statement key_statement = {
    "SELECT $1 OPERATOR(pg_catalog.||) ':'"
    " OPERATOR(pg_catalog.||) pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to("
    "$2::pg_catalog.text, 'UTF8') OPERATOR(pg_catalog.||) '\\x00'::pg_catalog.bytea"
    " OPERATOR(pg_catalog.||) pg_catalog.convert_to($3, 'UTF8')), 'hex'),"
    " @idem_fingerprint(pg_catalog.jsonb_build_object('event', $4, 'data', $5))",
    5,
    {TEXTOID, JSONBOID, TEXTOID, TEXTOID, JSONBOID}};

server::Statement recall_statement = {
    "SELECT result, fingerprint OPERATOR(pg_catalog.=) $2 FROM @idem_get($1, " SCOPE
    ") WHERE status OPERATOR(pg_catalog.=) 'finished'",
    2,
    {TEXTOID, BYTEAOID}};

server::Statement claim_statement = {
    "SELECT outcome, result, token FROM @idem_begin($1, " SCOPE ", $2)", 2, {TEXTOID, BYTEAOID}};

server::Statement keep_statement = {
    "SELECT @idem_finish($1, $3, " SCOPE ", $2)", 3, {TEXTOID, INT8OID, JSONBOID}};

#undef SCOPE

Datum column_in(MemoryContext context, int number, bool *isnull) {
  const Datum value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, number, isnull);
  if (*isnull) return Datum{0};
  const MemoryContext inner = MemoryContextSwitchTo(context);
  const Datum copy = PointerGetDatum(PG_DETOAST_DATUM_COPY(value));
  MemoryContextSwitchTo(inner);
  return copy;
}

const Jsonb *result_in(MemoryContext context) {
  bool isnull;
  const Datum result = column_in(context, 1, &isnull);
  return isnull ? nullptr : DatumGetJsonbP(result);
}

[[noreturn]] void refuse_reuse(const Memory &memory) {
  ereport(
      ERROR,
      (errcode(server::errcode_of(sqlstate::kReusedEvent)),
       errmsg("event id \"%s\" was used before, for another event or other data",
              text_to_cstring(memory.id)),
       errdetail("The record is \"%s\" in scope \"idem.event\".", TextDatumGetCString(memory.key)),
       errhint("Use an id for one event only, and send the same data when it is repeated.")));
  pg_unreachable();
}

[[noreturn]] void refuse_claimed(const Memory &memory, const char *outcome) {
  ereport(ERROR, (errcode(server::errcode_of(sqlstate::kInProgress)),
                  errmsg("the record of event id \"%s\" is claimed by somebody else",
                         text_to_cstring(memory.id)),
                  errdetail("The record is \"%s\" in scope \"idem.event\", and the answer \"%s\".",
                            TextDatumGetCString(memory.key), outcome),
                  errhint("Leave the scope \"idem.event\" to idem_fire.")));
  pg_unreachable();
}

const char *text_in(int number) {
  return SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, number);
}

}  // namespace

Memory memory_of(const EventId &event) {
  const Size length = VARSIZE_ANY_EXHDR(event.id);
  if (length < 1 || length > kMaxEventId)
    ereport(ERROR, (errcode(server::errcode_of(sqlstate::kBadArgument)),
                    errmsg("event_id must have 1 to %d bytes, not %zu", kMaxEventId, length),
                    errhint("Pass the id that the sender gave the event.")));
  const MemoryContext caller = CurrentMemoryContext;
  // As who may call the functions for records; those write as the owner of the table.
  const Place &place = event.attachment->place;
  Memory memory = {{place.home.schema, place.code_owner}, event.id, Datum{0}, Datum{0}};
  Datum values[] = {CStringGetTextDatum(event.attachment->label), PointerGetDatum(event.key),
                    PointerGetDatum(event.id), CStringGetTextDatum(event.event),
                    PointerGetDatum(event.data)};
  const char nulls[] = {' ', ' ', ' ', ' ', event.data == nullptr ? 'n' : ' ', '\0'};
  bool isnull;
  SPI_connect();
  (void)server::run(key_statement, memory.home, values, nulls, true, 1);
  memory.key = column_in(caller, 1, &isnull);
  memory.fingerprint = column_in(caller, 2, &isnull);
  SPI_finish();
  return memory;
}

const Jsonb *recall(const Memory &memory) {
  const MemoryContext caller = CurrentMemoryContext;
  const Jsonb *result = nullptr;
  Datum values[] = {memory.key, memory.fingerprint};
  SPI_connect();
  if (server::run(recall_statement, memory.home, values, nullptr, false, 1) == 1) {
    bool isnull;
    if (!DatumGetBool(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2, &isnull)))
      refuse_reuse(memory);
    result = result_in(caller);
  }
  SPI_finish();
  return result;
}

const Jsonb *claim(const Memory &memory, std::int64_t *token) {
  const MemoryContext caller = CurrentMemoryContext;
  const Jsonb *result = nullptr;
  Datum values[] = {memory.key, memory.fingerprint};
  SPI_connect();
  (void)server::run(claim_statement, memory.home, values, nullptr, false, 1);
  // A copy: the messages below need it after the result is gone.
  const char *outcome = MemoryContextStrdup(caller, text_in(1));
  if (strcmp(outcome, "started") == 0) {
    bool isnull;
    *token = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 3, &isnull));
  } else if (strcmp(outcome, "replayed") == 0) {
    const bool known = text_in(2) != nullptr;
    if (!known) refuse_claimed(memory, outcome);
    bool isnull;
    result = DatumGetJsonbP(column_in(caller, 2, &isnull));
  } else if (strcmp(outcome, "mismatch") == 0) {
    refuse_reuse(memory);
  } else {
    refuse_claimed(memory, outcome);
  }
  SPI_finish();
  return result;
}

void keep(const Memory &memory, std::int64_t token, const Jsonb *result) {
  Datum values[] = {memory.key, Int64GetDatum(token), PointerGetDatum(result)};
  (void)server::execute(keep_statement, memory.home, values, nullptr);
}

}  // namespace idem::machines
