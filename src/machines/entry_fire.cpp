// idem_fire: an event on a row, once.

#include "machines/arguments.hpp"
#include "machines/changes.hpp"
#include "machines/event_memory.hpp"
#include "machines/guards.hpp"
#include "machines/judge.hpp"
#include "machines/subject.hpp"
#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/json_value.hpp"
#include "server/names.hpp"
#include "server/prelude.hpp"
#include "server/rows.hpp"
#include "tables/arguments.hpp"
#include "tables/plans.hpp"
#include "tables/row.hpp"

namespace {

using idem::machines::Attachment;
using idem::machines::Firing;
using idem::machines::Memory;
using idem::machines::Reaction;
using idem::machines::Response;
using idem::machines::Subject;
using idem::server::errcode_of;
using idem::tables::KeyCondition;

constexpr int kRel = 0, kKey = 1, kEvent = 2, kEventId = 3, kData = 4, kCol = 5;

struct Fired {
  const char *outcome;
  const char *from;
  const char *to;
  int version;
};

struct Call {
  const Jsonb *key;
  const char *event;
  const text *event_id;  // or null
  const Jsonb *data;     // or null
};

// Every event that leads out of a state: "pay", "cancel".
const char *events_out(const idem::machines::Machine &machine, idem::machines::StateIndex from) {
  StringInfoData list;
  initStringInfo(&list);
  for (int i = 0; i < machine.transitions; i++) {
    const auto &one = machine.transition[i];
    if (one.from == from && one.event != nullptr)
      appendStringInfo(&list, "%s\"%s\"", list.len == 0 ? "" : ", ", one.event);
  }
  return list.len == 0 ? "none" : list.data;
}

int code_for(Reaction reaction) {
  if (reaction == Reaction::final_state) return errcode_of(idem::sqlstate::kFinalState);
  if (reaction == Reaction::unknown_state) return errcode_of(idem::sqlstate::kUnknownState);
  return errcode_of(idem::sqlstate::kNotDeclared);
}

const char *why(const Subject &subject, Reaction reaction) {
  const char *machine =
      psprintf("Machine \"%s\", version %d,", subject.edition->name, subject.edition->version);
  if (reaction == Reaction::unknown_state) return psprintf("%s has no such state.", machine);
  if (reaction == Reaction::final_state) return psprintf("%s has it as a final state.", machine);
  return psprintf("%s has these events in state \"%s\": %s.", machine, subject.position.text,
                  events_out(*subject.edition->machine, subject.position.state));
}

[[noreturn]] void refuse_event(const Subject &subject, const char *event, Reaction reaction) {
  const AttrNumber column = subject.sitting.attachment->column;
  const char *state =
      subject.position.text == nullptr ? "NULL" : psprintf("\"%s\"", subject.position.text);
  ereport(ERROR, (errcode(code_for(reaction)),
                  reaction == Reaction::unknown_event
                      ? errmsg("machine \"%s\" has no event \"%s\"", subject.edition->name, event)
                      : errmsg("event \"%s\" cannot happen to a row of table \"%s\" in state %s",
                               event, RelationGetRelationName(subject.relation), state),
                  errdetail("%s%s", why(subject, reaction),
                            idem::tables::row_for_message(subject.relation, column, subject.slot)),
                  reaction == Reaction::unknown_event
                      ? errhint("idem_machine_transitions() lists the events of a machine.")
                  : subject.position.text == nullptr
                      ? errhint("A row without a state is taken to an initial one by an UPDATE.")
                      : errhint("Fire an event that may be a repetition with its event_id; "
                                "idem_allowed_events() says what can happen to the row."),
                  errtablecol(subject.relation, column)));
  pg_unreachable();
}

// The new value as one more parameter after those of the key.
KeyCondition with_target(const Subject &subject, const KeyCondition &key,
                         idem::machines::StateIndex to) {
  const Attachment &attachment = *subject.sitting.attachment;
  const NullableDatum value =
      idem::machines::map_states(attachment.type, subject.edition)->values[to];
  if (value.isnull)
    ereport(ERROR,
            (errcode(errcode_of(idem::sqlstate::kUnknownState)),
             errmsg("state \"%s\" is not a value of type %s",
                    subject.edition->machine->state[to].name, format_type_be(attachment.type.type)),
             errhint("An enum needs ALTER TYPE ... ADD VALUE, committed before the state is "
                     "reached.")));
  KeyCondition all = key;
  all.types[all.parameters] = attachment.type.type;
  // The input function refuses a label whose transaction is still open: an index must not come to
  // hold one that may never exist.
  all.values[all.parameters] =
      attachment.type.representation == idem::machines::Representation::enumeration
          ? idem::server::value_from_text(subject.edition->machine->state[to].name,
                                          attachment.type.type)
          : value.value;
  all.parameters++;
  return all;
}

// With the caller's rights; the trigger judges, asks the guards and writes the history. Returns the
// state that was stored, which another trigger may have changed on the way.
const char *update_row(Subject &subject, const KeyCondition &key, idem::machines::StateIndex to) {
  const MemoryContext caller = CurrentMemoryContext;
  const Oid table = RelationGetRelid(subject.relation);
  const char *column =
      quote_identifier(get_attname(table, subject.sitting.attachment->column, false));
  KeyCondition all = with_target(subject, key, to);
  const char *sql =
      psprintf("UPDATE %s AS t SET %s = $%d WHERE %s RETURNING t.%s",
               idem::server::qualified_name(table), column, all.parameters, all.sql.data, column);
  SPI_connect();
  const idem::tables::Plan plan = idem::tables::plan_for(sql, all.parameters, all.types);
  const int code = idem::tables::execute_plan(plan, all.values, nullptr, false, 0);
  if (code != SPI_OK_UPDATE_RETURNING)
    elog(ERROR, "\"%s\" failed: %s", sql, SPI_result_code_string(code));
  if (SPI_processed != 1)
    ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kGuardRefused)),
                    errmsg("the change to \"%s\" was suppressed",
                           subject.edition->machine->state[to].name),
                    errdetail("A trigger or a policy of table \"%s\" kept the row as it is.",
                              RelationGetRelationName(subject.relation)),
                    errhint("Have the trigger raise an error that says why.")));
  const char *stored = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
  if (stored != nullptr) stored = MemoryContextStrdup(caller, stored);
  SPI_finish();
  return stored;
}

const char *apply(Subject &subject, const KeyCondition &key, const Firing &firing,
                  idem::machines::StateIndex to) {
  const Firing *outer = idem::machines::firing;
  const char *volatile stored = nullptr;
  PG_TRY();
  {
    idem::machines::firing = &firing;
    stored = update_row(subject, key, to);
  }
  PG_FINALLY();
  { idem::machines::firing = outer; }
  PG_END_TRY();
  return stored;
}

Fired fire_at(Subject &subject, const KeyCondition &key, const Call &call) {
  const Response response =
      idem::machines::respond(*subject.edition->machine, subject.position.state, call.event);
  const char *from = subject.position.text;
  if (response.reaction == Reaction::none) return {"noop", from, from, subject.edition->version};
  if (response.reaction != Reaction::apply) refuse_event(subject, call.event, response.reaction);
  const Firing firing = {subject.sitting.attachment->label,
                         subject.table,
                         subject.address,
                         call.event,
                         call.event_id,
                         call.data};
  const char *stored = apply(subject, key, firing, response.to);
  return {"applied", from, stored, subject.edition->version};
}

void push(JsonbParseState **state, const char *name, JsonbValue value) {
  JsonbValue key = idem::server::string_value(name);
  (void)pushJsonbValue(state, WJB_KEY, &key);
  (void)pushJsonbValue(state, WJB_VALUE, &value);
}

const Jsonb *json_of(const Fired &fired) {
  JsonbParseState *state = nullptr;
  JsonbValue version;
  version.type = jbvNumeric;
  version.val.numeric =
      DatumGetNumeric(DirectFunctionCall1(int4_numeric, Int32GetDatum(fired.version)));
  (void)pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
  push(&state, "outcome", idem::server::string_value(fired.outcome));
  push(&state, "from_state", idem::server::string_value(fired.from));
  push(&state, "to_state", idem::server::string_value(fired.to));
  push(&state, "machine_version", version);
  return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
}

const char *string_in(const Jsonb *result, const char *name) {
  JsonbValue key = idem::server::string_value(name);
  const JsonbValue *value =
      findJsonbValueFromContainer(const_cast<JsonbContainer *>(&result->root), JB_FOBJECT, &key);
  if (value == nullptr || value->type != jbvString) return nullptr;
  return pnstrdup(value->val.string.val, value->val.string.len);
}

// Tells what the event did when it came first.
Fired replay(const Jsonb *result) {
  JsonbValue key = idem::server::string_value("machine_version");
  const JsonbValue *version =
      findJsonbValueFromContainer(const_cast<JsonbContainer *>(&result->root), JB_FOBJECT, &key);
  const bool known = version != nullptr && version->type == jbvNumeric;
  return {"replayed", string_in(result, "from_state"), string_in(result, "to_state"),
          known ? DatumGetInt32(
                      DirectFunctionCall1(numeric_int4, NumericGetDatum(version->val.numeric)))
                : 0};
}

// A row has one memory, whichever of its keys the caller names, and however. The row itself is
// needed only when it is named by another key than its first one, or when the caller may not see
// every row; so what happened to a row that is gone can still be told.
const Jsonb *identity_of(Relation relation, const Attachment *attachment, const KeyCondition &key) {
  const idem::tables::RowKey columns = idem::tables::key_of_rows(relation, attachment->column);
  if (columns.columns == 0)
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("table \"%s\" has no primary key, by which events could be remembered",
                           RelationGetRelationName(relation)),
                    errhint("Add a primary key, or fire the event without an event_id.")));
  const bool sees_all_rows =
      check_enable_rls(RelationGetRelid(relation), InvalidOid, true) != RLS_ENABLED;
  const Jsonb *same =
      sees_all_rows ? idem::tables::key_of_condition(columns, relation, key) : nullptr;
  if (same != nullptr) return same;
  const Subject subject = idem::machines::find_subject(relation, attachment, key, false);
  return idem::tables::values_of_key(columns, relation, subject.slot);
}

// The key that the caller named may be another row's by the time that the row is locked.
const Jsonb *identity_of_locked(const Subject &subject) {
  const idem::tables::RowKey columns =
      idem::tables::key_of_rows(subject.relation, subject.sitting.attachment->column);
  return idem::tables::values_of_key(columns, subject.relation, subject.slot);
}

bool is_same(const Jsonb *one, const Jsonb *other) {
  return VARSIZE(one) == VARSIZE(other) && memcmp(one, other, VARSIZE(one)) == 0;
}

Fired fire_once(Relation relation, const Attachment *attachment, const KeyCondition &key,
                const Call &call) {
  const Jsonb *identity = identity_of(relation, attachment, key);
  Memory memory =
      idem::machines::memory_of({attachment, identity, call.event_id, call.event, call.data});
  const Jsonb *known = idem::machines::recall(memory);
  if (known != nullptr) return replay(known);
  Subject subject = idem::machines::find_subject(relation, attachment, key, true);
  const Jsonb *locked = identity_of_locked(subject);
  if (!is_same(locked, identity))
    memory = idem::machines::memory_of({attachment, locked, call.event_id, call.event, call.data});
  std::int64_t token = 0;
  known = idem::machines::claim(memory, &token);
  if (known != nullptr) return replay(known);
  const Fired fired = fire_at(subject, key, call);
  idem::machines::keep(memory, token, json_of(fired));
  return fired;
}

Call read_call(FunctionCallInfo fcinfo) {
  Call call = {};
  call.key = idem::tables::required_key(fcinfo, kKey);
  call.event = text_to_cstring(
      idem::server::required_text(fcinfo, kEvent, "event", idem::machines::kMaxNameBytes));
  if (!PG_ARGISNULL(kEventId)) call.event_id = PG_GETARG_TEXT_PP(kEventId);
  if (!PG_ARGISNULL(kData)) call.data = PG_GETARG_JSONB_P(kData);
  return call;
}

Datum fired_datum(FunctionCallInfo fcinfo, const Fired &fired) {
  Datum values[] = {CStringGetTextDatum(fired.outcome),
                    fired.from == nullptr ? Datum{0} : CStringGetTextDatum(fired.from),
                    fired.to == nullptr ? Datum{0} : CStringGetTextDatum(fired.to),
                    Int32GetDatum(fired.version)};
  bool nulls[] = {false, fired.from == nullptr, fired.to == nullptr, false};
  return idem::server::row_datum(fcinfo, values, nulls);
}

const Attachment *attachment_for(FunctionCallInfo fcinfo, Relation relation, int col) {
  return idem::machines::find_attachment(relation, get_func_namespace(fcinfo->flinfo->fn_oid),
                                         idem::tables::column_argument(fcinfo, col));
}

// Before anything is told, even what happened earlier.
void require_rights(Relation relation, const Attachment *attachment) {
  const Oid table = RelationGetRelid(relation);
  const bool reads = pg_class_aclcheck(table, GetUserId(), ACL_SELECT) == ACLCHECK_OK;
  const bool writes =
      pg_class_aclcheck(table, GetUserId(), ACL_UPDATE) == ACLCHECK_OK ||
      pg_attribute_aclcheck(table, attachment->column, GetUserId(), ACL_UPDATE) == ACLCHECK_OK;
  if (!reads || !writes)
    aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(relation->rd_rel->relkind),
                   RelationGetRelationName(relation));
}

}  // namespace

IDEM_FUNCTION(idem_fire) {
  idem::server::require_writable("idem_fire()");
  Relation named = idem::tables::open_table(fcinfo, kRel, RowExclusiveLock, ACL_UPDATE);
  const Call call = read_call(fcinfo);
  const Attachment *by_name = attachment_for(fcinfo, named, kCol);
  require_rights(named, by_name);
  Relation relation = idem::machines::table_of_row(named, by_name->column,
                                                   const_cast<Jsonb *>(call.key), RowExclusiveLock);
  const Attachment *attachment = attachment_for(fcinfo, relation, kCol);
  const KeyCondition key =
      idem::tables::read_key(relation, attachment->column, const_cast<Jsonb *>(call.key));
  Fired fired;
  if (call.event_id != nullptr) {
    fired = fire_once(relation, attachment, key, call);
  } else {
    Subject subject = idem::machines::find_subject(relation, attachment, key, true);
    fired = fire_at(subject, key, call);
  }
  const Datum result = fired_datum(fcinfo, fired);
  if (relation != named) relation_close(relation, NoLock);
  relation_close(named, NoLock);
  return result;
}
