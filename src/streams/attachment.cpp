#include "streams/attachment.hpp"

#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "streams/limits.hpp"
#include "tables/triggers.hpp"

namespace idem::streams {

namespace {

// What is wrong with a trigger or a column.
struct Problem {
  int code;
  const char *message;
  const char *hint;
};

[[noreturn]] void refuse(const Problem &problem, Relation relation) {
  ereport(ERROR, (errcode(problem.code), errmsg("%s", problem.message), errhint("%s", problem.hint),
                  errtable(relation)));
  pg_unreachable();
}

bool has_bad_arguments(Problem *problem, const Trigger &trigger, const char *what) {
  *problem = {server::errcode_of(sqlstate::kBadArgument),
              psprintf("trigger \"%s\": %s", trigger.tgname, what),
              "Attach the stream with idem_stream_attach, or write for example EXECUTE FUNCTION "
              "idem_accept_row('orders', 'message_id') or idem_accept_row('orders', 'producer_id', "
              "'epoch', 'seq')."};
  return false;
}

// Those whose text depends on no setting of the session.
bool can_be_id(Oid type) {
  switch (type) {
    case TEXTOID:
    case VARCHAROID:
    case BPCHAROID:
    case UUIDOID:
    case INT2OID:
    case INT4OID:
    case INT8OID:
      return true;
    default:
      return false;
  }
}

bool can_be_number(Oid type) {
  return type == INT4OID || type == INT8OID;
}

bool is_fit(Relation relation, AttrNumber column, bool by_producer, Problem *problem) {
  const Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(relation), column - 1);
  const char *place = psprintf("column \"%s\" of table \"%s\"", NameStr(attribute->attname),
                               RelationGetRelationName(relation));
  if (attribute->attgenerated != '\0') {
    *problem = {ERRCODE_WRONG_OBJECT_TYPE,
                psprintf("%s is generated, and not known before the row is stored", place),
                "Attach the column that it is computed from."};
    return false;
  }
  const Oid type = getBaseType(attribute->atttypid);
  if (by_producer ? can_be_number(type) : can_be_id(type)) return true;
  *problem = {ERRCODE_DATATYPE_MISMATCH,
              psprintf("%s of type %s cannot hold %s", place, format_type_be(attribute->atttypid),
                       by_producer ? "numbers of producers" : "message ids"),
              by_producer ? "Use bigint or integer."
                          : "Use text, varchar, uuid, smallint, integer, bigint, or a domain over "
                            "one of them."};
  return false;
}

bool find_column(Relation relation, const char *name, AttrNumber *column, Problem *problem) {
  *column = get_attnum(RelationGetRelid(relation), name);
  if (*column > 0) return true;
  *problem = {ERRCODE_UNDEFINED_COLUMN,
              psprintf("column \"%s\" of table \"%s\" does not exist", name,
                       RelationGetRelationName(relation)),
              "Check the spelling."};
  return false;
}

// The names after the stream, or else the columns that the WHEN clause names.
bool find_columns(Relation relation, const Trigger &trigger, AttrNumber *columns, int *count,
                  Problem *problem) {
  *count = 0;
  ListCell *cell;
  if (trigger.tgnargs == 1) {
    foreach (cell, tables::columns_in_when(trigger)) {
      if (*count < 3) columns[*count] = static_cast<AttrNumber>(lfirst_int(cell));
      (*count)++;
    }
  }
  for (int i = 1; i < trigger.tgnargs; i++) {
    if (i <= 3 && !find_column(relation, trigger.tgargs[i], &columns[i - 1], problem)) return false;
    (*count)++;
  }
  if (*count == 1 || *count == 3) return true;
  return has_bad_arguments(problem, trigger,
                           "it names neither a message id nor producer, epoch and sequence");
}

bool find_stream(const Trigger &trigger, Attachment *attachment, Problem *problem) {
  if (trigger.tgnargs < 1)
    return has_bad_arguments(problem, trigger, "it does not name the stream");
  const Size length = strlen(trigger.tgargs[0]);
  if (length < 1 || length > kMaxStreamBytes)
    return has_bad_arguments(problem, trigger,
                             psprintf("the name of a stream has 1 to %zu bytes", kMaxStreamBytes));
  attachment->stream = cstring_to_text(trigger.tgargs[0]);
  return true;
}

bool read(Relation relation, const Trigger &trigger, Attachment *attachment, Problem *problem) {
  *attachment = {};
  attachment->relation = RelationGetRelid(relation);
  int columns;
  if (!find_stream(trigger, attachment, problem) ||
      !find_columns(relation, trigger, attachment->column, &columns, problem))
    return false;
  attachment->by_producer = columns == 3;
  for (int i = 0; i < columns; i++) {
    if (!is_fit(relation, attachment->column[i], attachment->by_producer, problem)) return false;
    attachment->type[i] = getBaseType(get_atttype(attachment->relation, attachment->column[i]));
  }
  return true;
}

}  // namespace

bool accepts_rows(const Trigger &trigger, Oid function) {
  return trigger.tgfoid == function && TRIGGER_FOR_ROW(trigger.tgtype) &&
         TRIGGER_FOR_INSERT(trigger.tgtype);
}

bool try_read_attachment(Relation relation, const Trigger &trigger, Attachment *attachment) {
  Problem problem;
  return read(relation, trigger, attachment, &problem);
}

Attachment read_attachment(Relation relation, const Trigger &trigger) {
  Attachment attachment;
  Problem problem;
  if (!read(relation, trigger, &attachment, &problem)) refuse(problem, relation);
  return attachment;
}

void require_column(Relation relation, const char *name, bool by_producer) {
  AttrNumber column;
  Problem problem;
  if (!find_column(relation, name, &column, &problem) ||
      !is_fit(relation, column, by_producer, &problem))
    refuse(problem, relation);
}

}  // namespace idem::streams
