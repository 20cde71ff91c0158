// idem_machine_diagram, idem_machine_states and idem_machine_transitions: looking at a machine.

#include <string>

#include "machines/arguments.hpp"
#include "machines/census.hpp"
#include "machines/drawing.hpp"
#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "server/rows.hpp"
#include "tables/arguments.hpp"

namespace {

using idem::machines::Attachment;
using idem::machines::Counts;
using idem::machines::Definition;
using idem::machines::Edition;
using idem::machines::StoredMachine;
using idem::server::errcode_of;
using idem::server::view_of;

enum class Format { mermaid, dot };

Format format_argument(FunctionCallInfo fcinfo, int number) {
  const char *word = PG_ARGISNULL(number) ? "" : text_to_cstring(PG_GETARG_TEXT_PP(number));
  if (strcmp(word, "mermaid") == 0) return Format::mermaid;
  if (strcmp(word, "dot") == 0) return Format::dot;
  ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kBadArgument)),
                  errmsg("format must be \"mermaid\" or \"dot\", not \"%s\"", word),
                  errhint("Pass one of the two words.")));
  pg_unreachable();
}

// The rows of a table in each state of the machine, in the order of its definition.
const std::int64_t *count_states(FunctionCallInfo fcinfo, const Edition *edition) {
  if (PG_ARGISNULL(3)) return nullptr;
  auto *counts =
      static_cast<std::int64_t *>(palloc0((edition->machine->states + 1) * sizeof(std::int64_t)));
  Relation relation = idem::tables::open_table(fcinfo, 3, AccessShareLock, ACL_SELECT);
  const Attachment *attachment =
      idem::machines::find_attachment(relation, get_func_namespace(fcinfo->flinfo->fn_oid),
                                      idem::tables::column_argument(fcinfo, 4));
  if (attachment->row_machine == InvalidAttrNumber &&
      strcmp(attachment->machine, edition->name) != 0)
    ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kBadArgument)),
                    errmsg("table \"%s\" follows machine \"%s\", not \"%s\"",
                           RelationGetRelationName(relation), attachment->machine, edition->name),
                    errhint("Draw that one, or leave the table out.")));
  ListCell *cell;
  foreach (cell, idem::machines::count_rows(relation, *attachment, edition->name,
                                            idem::machines::CountAs::caller)) {
    const auto *group = static_cast<const idem::machines::Group *>(lfirst(cell));
    const idem::machines::StateIndex state =
        idem::machines::state_of_group(*attachment, *group, edition);
    if (state != idem::machines::kUnknown) counts[state] += group->rows;
  }
  relation_close(relation, NoLock);
  return counts;
}

text *draw(std::string_view diagram, const Edition &edition, const std::int64_t *counted,
           Format format) {
  const Definition definition = idem::machines::read_diagram(diagram);
  const Counts counts =
      counted == nullptr ? Counts() : Counts(counted, counted + edition.machine->states);
  const std::string drawn = format == Format::mermaid
                                ? idem::machines::draw_mermaid(definition, counts)
                                : idem::machines::draw_dot(definition, edition.name, counts);
  // The last line needs no end here.
  return idem::server::inward([&drawn] {
    return cstring_to_text_with_len(drawn.data(), static_cast<int>(drawn.size()) - 1);
  });
}

const Edition *edition_argument(FunctionCallInfo fcinfo, int version) {
  const char *name = idem::machines::required_machine(fcinfo, 0, "name");
  return idem::machines::edition_of(idem::machines::place_of(fcinfo->flinfo->fn_oid), name,
                                    idem::machines::version_argument(fcinfo, version));
}

}  // namespace

IDEM_FUNCTION(idem_machine_diagram) {
  const Edition *edition = edition_argument(fcinfo, 2);
  const Format format = format_argument(fcinfo, 1);
  const std::int64_t *counts = count_states(fcinfo, edition);
  const StoredMachine stored = idem::machines::read_machine(
      idem::machines::place_of(fcinfo->flinfo->fn_oid), edition->name, edition->version);
  PG_RETURN_TEXT_P(draw(view_of(stored.diagram), *edition, counts, format));
}

IDEM_FUNCTION(idem_machine_states) {
  const idem::machines::Machine &machine = *edition_argument(fcinfo, 1)->machine;
  const idem::server::Rows rows = idem::server::begin_rows(fcinfo);
  for (int i = 0; i < machine.states; i++) {
    const auto &state = machine.state[i];
    Datum values[] = {CStringGetTextDatum(state.name), BoolGetDatum(state.initial),
                      BoolGetDatum(state.final)};
    bool nulls[] = {false, false, false};
    rows.add(values, nulls);
  }
  return Datum{0};
}

IDEM_FUNCTION(idem_machine_transitions) {
  const idem::machines::Machine &machine = *edition_argument(fcinfo, 1)->machine;
  const idem::server::Rows rows = idem::server::begin_rows(fcinfo);
  for (int i = 0; i < machine.transitions; i++) {
    const auto &one = machine.transition[i];
    Datum values[] = {CStringGetTextDatum(machine.state[one.from].name),
                      CStringGetTextDatum(machine.state[one.to].name),
                      one.event == nullptr ? Datum{0} : CStringGetTextDatum(one.event)};
    bool nulls[] = {false, false, one.event == nullptr};
    rows.add(values, nulls);
  }
  return Datum{0};
}
