#include "machines/census.hpp"

#include "server/names.hpp"
#include "server/owner.hpp"
#include "server/prelude.hpp"

namespace idem::machines {

namespace {

const char *column_or(Relation relation, AttrNumber column, const char *otherwise) {
  if (column == InvalidAttrNumber) return otherwise;
  return psprintf("t.%s", quote_identifier(get_attname(RelationGetRelid(relation), column, false)));
}

const char *counting_sql(Relation relation, const Attachment &attachment) {
  const char *status = column_or(relation, attachment.column, nullptr);
  const char *machine = column_or(relation, attachment.row_machine, "NULL");
  const char *version = column_or(relation, attachment.row_version, "NULL");
  return psprintf(
      "SELECT %s, coalesce(%s::pg_catalog.text, $1) AS machine, %s::pg_catalog.int4,"
      " pg_catalog.count(*) FROM %s AS t"
      " WHERE $2 IS NULL OR coalesce(%s::pg_catalog.text, $1) OPERATOR(pg_catalog.=) $2"
      " GROUP BY 1, 2, 3",
      status, machine, version, server::qualified_name(RelationGetRelid(relation)), machine);
}

const char *text_at(HeapTuple row, int column, MemoryContext context) {
  const char *text = SPI_getvalue(row, SPI_tuptable->tupdesc, column);
  return text == nullptr ? nullptr : MemoryContextStrdup(context, text);
}

Group *group_at(const Attachment &attachment, HeapTuple row, MemoryContext context) {
  bool isnull;
  const TupleDesc descriptor = SPI_tuptable->tupdesc;
  auto *group = static_cast<Group *>(MemoryContextAllocZero(context, sizeof(Group)));
  const Datum value = SPI_getbinval(row, descriptor, 1, &group->value.isnull);
  const MemoryContext inner = MemoryContextSwitchTo(context);
  if (!group->value.isnull) {
    int16 length;
    bool by_value;
    get_typlenbyval(attachment.type.type, &length, &by_value);
    group->value.value = datumCopy(value, by_value, length);
    group->text = text_of_value(attachment.type, value);
  }
  MemoryContextSwitchTo(inner);
  group->machine = text_at(row, 2, context);
  group->version = DatumGetInt32(SPI_getbinval(row, descriptor, 3, &isnull));
  if (isnull) group->version = 0;
  group->rows = DatumGetInt64(SPI_getbinval(row, descriptor, 4, &isnull));
  return group;
}

struct Counting {
  Relation relation;
  const Attachment *attachment;
  const char *machine;
  MemoryContext context;
  List *groups;
};

void count(Counting &counting) {
  const char *sql = counting_sql(counting.relation, *counting.attachment);
  const char *fallback = counting.attachment->machine;
  Oid types[] = {TEXTOID, TEXTOID};
  Datum values[] = {fallback == nullptr ? Datum{0} : CStringGetTextDatum(fallback),
                    counting.machine == nullptr ? Datum{0} : CStringGetTextDatum(counting.machine)};
  const char nulls[] = {fallback == nullptr ? 'n' : ' ', counting.machine == nullptr ? 'n' : ' ',
                        '\0'};
  SPI_connect();
  SPIPlanPtr plan = SPI_prepare(sql, 2, types);
  if (plan == nullptr) elog(ERROR, "\"%s\": %s", sql, SPI_result_code_string(SPI_result));
  // What was committed before the table could be locked counts, whatever the isolation level.
  const int code = SPI_execute_snapshot(plan, values, nulls, GetLatestSnapshot(), InvalidSnapshot,
                                        false, false, 0);
  if (code != SPI_OK_SELECT) elog(ERROR, "\"%s\" failed: %s", sql, SPI_result_code_string(code));
  const MemoryContext inner = CurrentMemoryContext;
  for (uint64 i = 0; i < SPI_processed; i++) {
    Group *group = group_at(*counting.attachment, SPI_tuptable->vals[i], counting.context);
    MemoryContextSwitchTo(counting.context);
    counting.groups = lappend(counting.groups, group);
    MemoryContextSwitchTo(inner);
  }
  SPI_finish();
}

int compare_texts(const char *one, const char *other) {
  if (one == nullptr || other == nullptr) return (one == nullptr) - (other == nullptr);
  return strcmp(one, other);
}

int compare_groups(const Group &one, const Group &other) {
  const int texts = compare_texts(one.text, other.text);
  if (texts != 0) return texts;
  const int machines = compare_texts(one.machine, other.machine);
  return machines != 0 ? machines : one.version - other.version;
}

// Few, and in an order that people can follow.
List *sorted(List *groups) {
  List *ordered = NIL;
  ListCell *cell;
  foreach (cell, groups) {
    const auto *group = static_cast<const Group *>(lfirst(cell));
    int place = 0;
    while (place < list_length(ordered) &&
           compare_groups(*static_cast<const Group *>(list_nth(ordered, place)), *group) <= 0)
      place++;
    ordered = list_insert_nth(ordered, place, lfirst(cell));
  }
  return ordered;
}

}  // namespace

List *count_rows(Relation relation, const Attachment &attachment, const char *machine,
                 CountAs rights) {
  Counting counting = {relation, &attachment, machine, CurrentMemoryContext, NIL};
  if (rights == CountAs::caller)
    count(counting);
  else
    server::as_owner(relation->rd_rel->relowner, [&counting] { count(counting); });
  return sorted(counting.groups);
}

StateIndex state_of_group(const Attachment &attachment, const Group &group,
                          const Edition *edition) {
  if (group.value.isnull) return kUnknown;
  return state_of(attachment.type, *map_states(attachment.type, edition), group.value.value);
}

const char *problem_with(const Attachment &attachment, const Group &group) {
  if (group.machine == nullptr) return "names no state machine";
  const Edition *edition = find_edition(attachment.place, group.machine, group.version);
  if (edition == nullptr)
    return group.version == 0
               ? psprintf("state machine \"%s\" is not defined", group.machine)
               : psprintf("state machine \"%s\" has no version %d", group.machine, group.version);
  if (group.value.isnull) return attachment.allow_null ? nullptr : "NULL is no state";
  if (state_of_group(attachment, group, edition) != kUnknown) return nullptr;
  return psprintf("not a state of machine \"%s\", version %d", edition->name, edition->version);
}

const char *strangers(const Attachment &attachment, List *groups, const Edition *edition) {
  StringInfoData list;
  initStringInfo(&list);
  ListCell *cell;
  foreach (cell, groups) {
    const auto *group = static_cast<const Group *>(lfirst(cell));
    if (group->value.isnull && attachment.allow_null) continue;
    if (state_of_group(attachment, *group, edition) != kUnknown) continue;
    appendStringInfo(&list, "%s%s (" INT64_FORMAT " row%s)", list.len == 0 ? "" : ", ",
                     group->text == nullptr ? "NULL" : psprintf("\"%s\"", group->text), group->rows,
                     group->rows == 1 ? "" : "s");
  }
  return list.len == 0 ? nullptr : list.data;
}

}  // namespace idem::machines
