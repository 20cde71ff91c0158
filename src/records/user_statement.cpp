#include "records/user_statement.hpp"

#include "server/compat.hpp"
#include "server/guard.hpp"
#include "server/json_value.hpp"
#include "server/prelude.hpp"

namespace idem::records {

namespace {

// Statements differ by program, not by data, so few are met in one session; an application that
// builds them from data makes a plan each time.
constexpr int kKept = 64;

struct UserStatement {
  MemoryContext context;  // holds everything below but the plan
  char *source;
  uint32 hash;
  // Names in the statement mean what they meant on this path and for this role.
  char *search_path;
  Oid role;
  SPIPlanPtr plan;
  Oid *types;
  int count;
  uint64 last_used;
  int running;  // executions on the stack: a running statement is not dropped
};

UserStatement *kept[kKept];
uint64 uses = 0;

[[noreturn]] void refuse(const char *message, const char *detail, const char *hint) {
  ereport(ERROR, (errcode(server::errcode_of(sqlstate::kBadArgument)), errmsg("%s", message),
                  detail != nullptr ? errdetail("%s", detail) : 0, errhint("%s", hint)));
  pg_unreachable();
}

// The protocol's own limit.
constexpr int kMaxParameters = 65535;

// No parameter of the statement has a higher number; one in a string or a comment may.
int highest_parameter(const char *source) {
  int highest = 0;
  for (const char *at = strchr(source, '$'); at != nullptr; at = strchr(at + 1, '$')) {
    const long number = strtol(at + 1, nullptr, 10);
    if (number > highest && number <= kMaxParameters) highest = static_cast<int>(number);
  }
  return highest;
}

// The parser's hook would let the array grow in a context that is gone when SPI_prepare returns, so
// it starts as large as it can become.
void infer_types(ParseState *state, void *argument) {
  auto *statement = static_cast<UserStatement *>(argument);
  server::infer_parameter_types(state, &statement->types, &statement->count);
}

void make_room_for_types(UserStatement *statement) {
  statement->count = highest_parameter(statement->source);
  statement->types = static_cast<Oid *>(
      MemoryContextAllocZero(statement->context, (statement->count + 1) * sizeof(Oid)));
}

// Ends the array at the last parameter that the statement has.
void check_types(UserStatement *statement, const Oid *room) {
  if (statement->types != room)
    refuse("parameter number is too high", nullptr, "Number the parameters from $1 without gaps.");
  while (statement->count > 0 && !OidIsValid(room[statement->count - 1])) statement->count--;
  for (int i = 0; i < statement->count; i++) {
    if (room[i] == UNKNOWNOID)
      ereport(ERROR, (errcode(ERRCODE_INDETERMINATE_DATATYPE),
                      errmsg("could not determine data type of parameter $%d", i + 1),
                      errhint("Write its type in the statement, as in $%d::text.", i + 1)));
  }
}

void require_single(SPIPlanPtr plan) {
  const int count = list_length(SPI_plan_get_plan_sources(plan));
  if (count == 1) return;
  if (count == 0)
    refuse("statement must not be empty", "The text holds no statement.",
           "Pass one SQL statement, with $1, $2 and so on for its arguments.");
  refuse("idem_execute takes exactly one statement", psprintf("The text holds %d.", count),
         "Put several into a function, or call idem_begin and idem_finish around them.");
}

// Call inside SPI. Nothing is kept when preparing fails.
UserStatement *prepare(const char *source, uint32 hash) {
  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "pg_idem statement", ALLOCSET_SMALL_SIZES);
  auto *statement =
      static_cast<UserStatement *>(MemoryContextAllocZero(context, sizeof(UserStatement)));
  statement->context = context;
  statement->source = MemoryContextStrdup(context, source);
  statement->hash = hash;
  statement->search_path = MemoryContextStrdup(context, namespace_search_path);
  statement->role = GetUserId();
  make_room_for_types(statement);
  const Oid *room = statement->types;
  statement->plan = SPI_prepare_params(source, infer_types, statement, 0);
  if (statement->plan == nullptr)
    elog(ERROR, "SPI_prepare_params failed: %s", SPI_result_code_string(SPI_result));
  require_single(statement->plan);
  check_types(statement, room);
  if (SPI_keepplan(statement->plan) != 0) elog(ERROR, "SPI_keepplan failed");
  MemoryContextSetParent(context, TopMemoryContext);
  return statement;
}

void drop(UserStatement *statement) {
  SPI_freeplan(statement->plan);
  MemoryContextDelete(statement->context);
}

int place_for_new() {
  int oldest = -1;
  for (int i = 0; i < kKept; i++) {
    if (kept[i] == nullptr) return i;
    if (kept[i]->running == 0 && (oldest < 0 || kept[i]->last_used < kept[oldest]->last_used))
      oldest = i;
  }
  return oldest;
}

int place_of(const char *source, uint32 hash) {
  for (int i = 0; i < kKept; i++) {
    if (kept[i] != nullptr && kept[i]->hash == hash && kept[i]->role == GetUserId() &&
        strcmp(kept[i]->search_path, namespace_search_path) == 0 &&
        strcmp(kept[i]->source, source) == 0)
      return i;
  }
  return -1;
}

UserStatement *find_or_prepare(const text *source) {
  const char *wanted = text_to_cstring(source);
  const uint32 hash = string_hash(wanted, strlen(wanted) + 1);
  int place = place_of(wanted, hash);
  if (place >= 0) {
    // A plan that an ALTER TABLE has outdated would keep parameter types of before.
    if (SPI_plan_is_valid(kept[place]->plan) || kept[place]->running > 0) return kept[place];
    drop(kept[place]);
    kept[place] = nullptr;
  }
  UserStatement *statement = prepare(wanted, hash);
  place = place_for_new();
  if (place < 0) return statement;
  if (kept[place] != nullptr) drop(kept[place]);
  kept[place] = statement;
  return statement;
}

void bind(ParamExternData &parameter, const JsonbValue &element, Oid type) {
  parameter.ptype = type;
  parameter.pflags = PARAM_FLAG_CONST;
  // A parameter number that the statement skips has no type.
  const NullableDatum value =
      OidIsValid(type) ? server::nullable_sql_value(element, type) : NullableDatum{Datum{0}, true};
  parameter.isnull = value.isnull;
  parameter.value = value.value;
}

ParamListInfo bind_all(const UserStatement *statement, Jsonb *arguments) {
  if (!JB_ROOT_IS_ARRAY(arguments) || JB_ROOT_IS_SCALAR(arguments))
    refuse("args must be a JSON array", nullptr, "Pass for example '[42, \"EUR\"]'.");
  const int given = static_cast<int>(JB_ROOT_COUNT(arguments));
  if (given != statement->count)
    refuse(
        "wrong number of arguments",
        psprintf("The statement has %d parameters, args has %d elements.", statement->count, given),
        "Pass one element for each of $1, $2, and so on.");
  ParamListInfo parameters = makeParamList(given);
  for (int i = 0; i < given; i++)
    bind(parameters->params[i], *getIthJsonbValueFromContainer(&arguments->root, i),
         statement->types[i]);
  return parameters;
}

void append_row(StringInfo json, HeapTuple tuple, TupleDesc descriptor) {
  const Datum row = heap_copy_tuple_as_datum(tuple, descriptor);
  const text *object = DatumGetTextPP(DirectFunctionCall1(row_to_json, row));
  appendBinaryStringInfo(json, VARDATA_ANY(object), static_cast<int>(VARSIZE_ANY_EXHDR(object)));
}

Datum rows_as_json(const SPITupleTable *rows, uint64 count) {
  StringInfoData json;
  initStringInfo(&json);
  BlessTupleDesc(rows->tupdesc);
  appendStringInfoChar(&json, '[');
  for (uint64 i = 0; i < count; i++) {
    if (i > 0) appendStringInfoChar(&json, ',');
    append_row(&json, rows->vals[i], rows->tupdesc);
  }
  appendStringInfoChar(&json, ']');
  return DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data));
}

Datum outcome_as_json() {
  if (SPI_tuptable != nullptr) return rows_as_json(SPI_tuptable, SPI_processed);
  char count[32];
  snprintf(count, sizeof(count), "%llu", static_cast<unsigned long long>(SPI_processed));
  return DirectFunctionCall1(jsonb_in, CStringGetDatum(count));
}

[[noreturn]] void refuse_kind(int code) {
  if (code == SPI_ERROR_TRANSACTION)
    refuse("idem_execute cannot control transactions", nullptr,
           "Leave BEGIN, COMMIT and ROLLBACK to the caller.");
  if (code == SPI_ERROR_COPY)
    refuse("idem_execute cannot COPY from or to the client", nullptr, "Use INSERT or SELECT.");
  elog(ERROR, "SPI_execute_plan failed: %s", SPI_result_code_string(code));
}

// Binding may run code of the caller's too, such as the CHECK of a domain.
void execute(UserStatement *statement, Jsonb *arguments) {
  statement->last_used = ++uses;
  statement->running++;
  PG_TRY();
  {
    ParamListInfo parameters = bind_all(statement, arguments);
    const int code = SPI_execute_plan_with_paramlist(statement->plan, parameters, false, 0);
    if (code < 0) refuse_kind(code);
  }
  PG_CATCH();
  {
    statement->running--;
    PG_RE_THROW();
  }
  PG_END_TRY();
  statement->running--;
}

}  // namespace

Datum run_user_statement(const text *source, Jsonb *arguments) {
  const MemoryContext caller = CurrentMemoryContext;
  SPI_connect();
  execute(find_or_prepare(source), arguments);
  const Datum result = outcome_as_json();
  const MemoryContext inner = MemoryContextSwitchTo(caller);
  const Datum copy = datumCopy(result, false, -1);
  MemoryContextSwitchTo(inner);
  SPI_finish();
  return copy;
}

}  // namespace idem::records
