// idem_accept_row: the trigger function of attached tables.

#include "records/limits.hpp"
#include "server/arguments.hpp"
#include "server/compat.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "streams/attachment.hpp"
#include "streams/messages.hpp"
#include "streams/moves.hpp"
#include "streams/progress.hpp"
#include "tables/triggers.hpp"

namespace {

using idem::server::errcode_of;
using idem::streams::Attachment;

const TriggerData &trigger_of(FunctionCallInfo fcinfo) {
  if (!CALLED_AS_TRIGGER(fcinfo))
    idem::tables::refuse_use("function idem_accept_row() must be called as a trigger",
                             "Attach a stream with idem_stream_attach.");
  return *reinterpret_cast<const TriggerData *>(fcinfo->context);
}

bool fires_here(const Trigger &trigger) {
  if (trigger.tgenabled == TRIGGER_FIRES_ALWAYS) return true;
  return trigger.tgenabled == (SessionReplicationRole == SESSION_REPLICATION_ROLE_REPLICA
                                   ? TRIGGER_FIRES_ON_REPLICA
                                   : TRIGGER_FIRES_ON_ORIGIN);
}

// Any will do, whatever its stream: that a row moves is true for all. But it must tell of each row,
// also in the partition that the row comes from.
bool tells_of_moves(const Trigger &trigger, Oid function) {
  return trigger.tgfoid == function && TRIGGER_FOR_ROW(trigger.tgtype) &&
         TRIGGER_FOR_BEFORE(trigger.tgtype) && TRIGGER_FOR_DELETE(trigger.tgtype) &&
         trigger.tgqual == nullptr && fires_here(trigger) &&
         idem::server::is_copy_of_parents(trigger);
}

// Without it, a row that moves here from another partition would look like one delivered again, and
// be lost.
void require_told_of_moves(const TriggerData &trigger) {
  if (!trigger.tg_relation->rd_rel->relispartition) return;
  const TriggerDesc *triggers = trigger.tg_relation->trigdesc;
  for (int i = 0; i < triggers->numtriggers; i++)
    if (tells_of_moves(triggers->triggers[i], trigger.tg_trigger->tgfoid)) return;
  idem::tables::refuse_use(
      psprintf("\"%s\" is a partition, and rows that move to it would be taken for repeated "
               "ones",
               RelationGetRelationName(trigger.tg_relation)),
      "Make idem_accept_row() fire BEFORE DELETE on the partitioned table, too, by a trigger "
      "that is enabled and has no WHEN clause.");
}

// The second of two would take every row that the first has accepted for a repeated one.
void require_only_judge(const TriggerData &trigger, const Attachment &attachment) {
  Relation relation = trigger.tg_relation;
  const TriggerDesc *triggers = idem::tables::triggers_on(relation);
  for (int i = 0; i < triggers->numtriggers; i++) {
    const Trigger &other = triggers->triggers[i];
    Attachment same;
    if (other.tgoid == trigger.tg_trigger->tgoid || other.tgenabled == TRIGGER_DISABLED ||
        !idem::streams::accepts_rows(other, trigger.tg_trigger->tgfoid) ||
        !idem::streams::try_read_attachment(relation, other, &same) ||
        same.column[0] != attachment.column[0] ||
        idem::server::view_of(same.stream) != idem::server::view_of(attachment.stream))
      continue;
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("rows of table \"%s\" are accepted twice", RelationGetRelationName(relation)),
             errdetail("The second of triggers \"%s\" and \"%s\" would leave all of them out.",
                       trigger.tg_trigger->tgname, other.tgname),
             errhint("Drop one of them with DROP TRIGGER."), errtable(relation)));
  }
}

// What the rows of a statement have in common, put together once.
const Attachment &attachment_for(FunctionCallInfo fcinfo, const TriggerData &trigger) {
  FmgrInfo *function = fcinfo->flinfo;
  if (function->fn_extra == nullptr) {
    require_told_of_moves(trigger);
    const MemoryContext caller = MemoryContextSwitchTo(function->fn_mcxt);
    auto *attachment = static_cast<Attachment *>(palloc(sizeof(Attachment)));
    *attachment = idem::streams::read_attachment(trigger.tg_relation, *trigger.tg_trigger);
    require_only_judge(trigger, *attachment);
    function->fn_extra = attachment;
    MemoryContextSwitchTo(caller);
  }
  return *static_cast<const Attachment *>(function->fn_extra);
}

[[noreturn]] void refuse_value(const TriggerData &trigger, AttrNumber column, const char *problem) {
  Relation relation = trigger.tg_relation;
  const Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(relation), column - 1);
  ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kBadArgument)),
                  errmsg("column \"%s\" of table \"%s\" %s", NameStr(attribute->attname),
                         RelationGetRelationName(relation), problem),
                  errhint("Each row of an attached table says which message it is."),
                  errtablecol(relation, column)));
  pg_unreachable();
}

[[noreturn]] void refuse_long_id(const TriggerData &trigger, AttrNumber column, std::size_t size) {
  Relation relation = trigger.tg_relation;
  const Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(relation), column - 1);
  ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kBadArgument)),
                  errmsg("column \"%s\" of table \"%s\" is too long for a message id",
                         NameStr(attribute->attname), RelationGetRelationName(relation)),
                  errdetail("With the stream it makes a key of %zu bytes; the limit is %zu.", size,
                            idem::records::kMaxKeyBytes),
                  errhint("Use a shorter id, or a digest of it. Each \":\", \"/\" and \"%%\" takes "
                          "three bytes."),
                  errtablecol(relation, column)));
  pg_unreachable();
}

Datum required_value(const TriggerData &trigger, AttrNumber column) {
  bool isnull;
  const Datum value = slot_getattr(trigger.tg_trigslot, column, &isnull);
  if (isnull) refuse_value(trigger, column, "must not be null");
  return value;
}

const text *message_id(const TriggerData &trigger, const Attachment &attachment) {
  const AttrNumber column = attachment.column[0];
  const Datum value = required_value(trigger, column);
  const Oid type = attachment.type[0];
  const text *id;
  if (type == TEXTOID || type == VARCHAROID) {
    id = DatumGetTextPP(value);
  } else if (type == BPCHAROID) {
    // As its cast to text: the padding means nothing, and depends on the column's length.
    id = DatumGetTextPP(DirectFunctionCall1(rtrim1, value));
  } else {
    Oid output;
    bool is_varlena;
    getTypeOutputInfo(type, &output, &is_varlena);
    id = cstring_to_text(OidOutputFunctionCall(output, value));
  }
  if (VARSIZE_ANY_EXHDR(id) < 1) refuse_value(trigger, column, "must not be empty");
  const std::size_t size = idem::streams::key_size({attachment.stream, id});
  if (size > idem::records::kMaxKeyBytes) refuse_long_id(trigger, column, size);
  return id;
}

// The stream may belong to a role; whose rows they are is for the owner of the table to say.
bool is_new_message(FunctionCallInfo fcinfo, const TriggerData &trigger,
                    const Attachment &attachment) {
  const idem::streams::Message message = {attachment.stream, message_id(trigger, attachment)};
  const auto tables = idem::streams::stream_tables(fcinfo, NoLock);
  const auto settings = idem::streams::stream_settings_for(tables, message.stream,
                                                           trigger.tg_relation->rd_rel->relowner);
  const auto table = idem::records::records_table(fcinfo, AccessShareLock);
  return !idem::streams::accept_message(table, settings, message, {nullptr, nullptr, {0, true}})
              .duplicate;
}

std::int64_t required_integer(const TriggerData &trigger, const Attachment &attachment, int place) {
  const Datum value = required_value(trigger, attachment.column[place]);
  return attachment.type[place] == INT8OID ? DatumGetInt64(value) : DatumGetInt32(value);
}

bool is_new_number(FunctionCallInfo fcinfo, const TriggerData &trigger,
                   const Attachment &attachment) {
  idem::streams::Call call;
  call.producer_id = required_integer(trigger, attachment, 0);
  call.epoch = required_integer(trigger, attachment, 1);
  const std::int64_t seq = required_integer(trigger, attachment, 2);
  if (seq < 1) refuse_value(trigger, attachment.column[2], "must be 1 or more");
  call.tables = idem::streams::stream_tables(fcinfo, RowExclusiveLock);
  call.stream = attachment.stream;
  call.settings = idem::streams::stream_settings_for(call.tables, call.stream,
                                                     trigger.tg_relation->rd_rel->relowner);
  call.now = GetCurrentTimestamp();
  return idem::streams::accept_number(fcinfo->flinfo->fn_oid, call, seq);
}

bool is_new(FunctionCallInfo fcinfo, const TriggerData &trigger) {
  const Attachment &attachment = attachment_for(fcinfo, trigger);
  if (trigger.tg_relation->rd_rel->relispartition && idem::streams::is_arriving(trigger))
    return true;
  return attachment.by_producer ? is_new_number(fcinfo, trigger, attachment)
                                : is_new_message(fcinfo, trigger, attachment);
}

// Every dump begins with these settings, whoever runs it and under whatever name.
bool is_restore() {
  return !check_function_bodies && namespace_search_path != nullptr &&
         namespace_search_path[0] == '\0';
}

// pg_restore with several jobs makes the triggers of a partitioned table before all its partitions
// are loaded. Their rows, whose messages the dump remembers, would be lost without a word.
void require_no_restore(const TriggerData &trigger) {
  if (!is_restore()) return;
  Relation relation = trigger.tg_relation;
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("a restore would lose rows of table \"%s\", whose messages are known",
                         RelationGetRelationName(relation)),
                  errhint("Restore the sections pre-data, data and post-data one after the other, "
                          "or pass --disable-triggers to restore data alone."),
                  errtable(relation)));
}

// Whoever leaves FOR EACH ROW out would have no row looked at.
bool ends_statement(const TriggerData &trigger) {
  if (TRIGGER_FIRED_FOR_ROW(trigger.tg_event)) return false;
  if (TRIGGER_FIRED_BEFORE(trigger.tg_event) || trigger.tg_trigger->tgnargs != 1)
    idem::tables::refuse_use("idem_accept_row() must be fired for each row",
                             "Write FOR EACH ROW in CREATE TRIGGER.");
  return true;
}

}  // namespace

IDEM_FUNCTION(idem_accept_row) {
  const TriggerData &trigger = trigger_of(fcinfo);
  if (ends_statement(trigger)) {
    idem::streams::write_progress();
    return PointerGetDatum(nullptr);
  }
  if (!TRIGGER_FIRED_BEFORE(trigger.tg_event) || TRIGGER_FIRED_BY_UPDATE(trigger.tg_event))
    idem::tables::refuse_use("idem_accept_row() must be fired before a row is inserted",
                             "Write BEFORE INSERT in CREATE TRIGGER.");
  idem::server::require_writable("idem_accept_row()");
  HeapTuple row = trigger.tg_trigtuple;
  if (TRIGGER_FIRED_BY_DELETE(trigger.tg_event)) {
    idem::streams::remember_deleted(trigger);
  } else if (!is_new(fcinfo, trigger)) {
    require_no_restore(trigger);
    row = nullptr;
  }
  return PointerGetDatum(row);
}
