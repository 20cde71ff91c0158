// idem_machine_define: storing versions of a machine.

#include <optional>

#include "machines/arguments.hpp"
#include "machines/attached.hpp"
#include "machines/census.hpp"
#include "machines/definition.hpp"
#include "machines/drawing.hpp"
#include "machines/editions.hpp"
#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/names.hpp"
#include "server/prelude.hpp"

namespace {

using idem::machines::Attachment;
using idem::machines::Definition;
using idem::machines::Edge;
using idem::machines::Edition;
using idem::machines::Place;
using idem::machines::StoredMachine;
using idem::server::errcode_of;
using idem::server::view_of;

struct Comparison {
  bool same;           // also in the descriptions
  bool loses_a_state;  // rows may be in it
};

bool has_state(const Definition &definition, const std::string &name) {
  for (const auto &state : definition.states)
    if (state.name == name) return true;
  return false;
}

// Null for a text that is no diagram, such as one that was written past us.
std::optional<Definition> definition_of(std::string_view diagram) {
  try {
    return idem::machines::read_diagram(diagram);
  } catch (const idem::Error &) {
    return std::nullopt;
  }
}

Comparison compare(std::string_view former, std::string_view diagram) {
  const std::optional<Definition> before = definition_of(former);
  if (!before) return {false, true};
  const Definition now = idem::machines::read_diagram(diagram);
  Comparison comparison = {};
  comparison.same =
      idem::machines::draw_mermaid(*before, {}) == idem::machines::draw_mermaid(now, {});
  for (const auto &state : before->states)
    if (!has_state(now, state.name)) comparison.loses_a_state = true;
  return comparison;
}

// Rows that follow the newest version; rows that are pinned keep theirs.
bool follows(const Attachment &attachment, const char *machine) {
  if (attachment.row_version != InvalidAttrNumber) return false;
  return attachment.row_machine != InvalidAttrNumber || strcmp(attachment.machine, machine) == 0;
}

// Locked, so that no row comes into a state that goes while they are counted.
void append_strangers(StringInfo problems, const Attachment &attachment, const Edition *edition) {
  Relation relation = try_relation_open(attachment.relation, ShareRowExclusiveLock);
  if (relation == nullptr) return;
  // Its rows are its session's own affair.
  if (RELATION_IS_OTHER_TEMP(relation)) {
    relation_close(relation, NoLock);
    return;
  }
  List *groups = idem::machines::count_rows(relation, attachment, edition->name,
                                            idem::machines::CountAs::owner);
  const char *strangers = idem::machines::strangers(attachment, groups, edition);
  if (strangers != nullptr)
    appendStringInfo(problems, "%sTable %s, column \"%s\": %s.", problems->len == 0 ? "" : "\n",
                     idem::server::qualified_name(attachment.relation),
                     get_attname(attachment.relation, attachment.column, false), strangers);
  relation_close(relation, NoLock);
}

void require_no_strangers(const Place &place, const Edition *edition) {
  StringInfoData problems;
  initStringInfo(&problems);
  ListCell *cell;
  foreach (cell, idem::machines::all_attachments(place.home.schema)) {
    const auto *attachment = static_cast<const Attachment *>(lfirst(cell));
    if (follows(*attachment, edition->name)) append_strangers(&problems, *attachment, edition);
  }
  if (problems.len == 0) return;
  ereport(ERROR,
          (errcode(errcode_of(idem::sqlstate::kUnknownState)),
           errmsg("state machine \"%s\" cannot give up states that rows are in", edition->name),
           errdetail("%s", problems.data),
           errhint("Keep the states for now; or move the rows to other states with "
                   "idem_machine_migrate first.")));
}

int define(FunctionCallInfo fcinfo, const text *diagram) {
  const char *name = idem::machines::required_machine(fcinfo, 0, "name");
  const Place place = idem::machines::place_of(fcinfo->flinfo->fn_oid);
  idem::machines::lock_all_machines(place, RowExclusiveLock);
  idem::machines::lock_machine(place, name, ExclusiveLock);
  const StoredMachine stored = idem::machines::read_machine(place, name, 0);
  const Edition *edition = idem::machines::compile_edition(name, stored.version + 1, diagram);
  if (stored.version > 0) {
    const Comparison comparison = compare(view_of(stored.diagram), view_of(diagram));
    if (comparison.same) return stored.version;
    if (comparison.loses_a_state) require_no_strangers(place, edition);
  }
  idem::machines::write_machine(place, name, edition->version, diagram);
  return edition->version;
}

// The strings of an array of any shape, row by row; null for an array that is not of the shape.
struct Strings {
  int count;
  Datum *values;
};

Strings strings_of(FunctionCallInfo fcinfo, int number, const char *what) {
  Strings strings = {};
  if (PG_ARGISNULL(number))
    ereport(ERROR,
            (errcode(errcode_of(idem::sqlstate::kBadArgument)), errmsg("%s must not be null", what),
             errhint("Pass for example initial => '{pending}', transitions => "
                     "'{{pending,paid,pay}}'.")));
  bool *nulls;
  deconstruct_array(PG_GETARG_ARRAYTYPE_P(number), TEXTOID, -1, false, TYPALIGN_INT,
                    &strings.values, &nulls, &strings.count);
  for (int i = 0; i < strings.count; i++)
    // Only an event may be left out.
    if (nulls[i]) strings.values[i] = PointerGetDatum(cstring_to_text(""));
  return strings;
}

// How many strings a transition has: 2 or 3.
int width_of(ArrayType *transitions) {
  if (ARR_NDIM(transitions) == 2 &&
      (ARR_DIMS(transitions)[1] == 2 || ARR_DIMS(transitions)[1] == 3))
    return ARR_DIMS(transitions)[1];
  if (ARR_NDIM(transitions) == 0) return 2;
  ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kBadArgument)),
                  errmsg("transitions must be an array of {from, to} or {from, to, event}"),
                  errhint("Pass for example '{{pending,paid,pay},{paid,shipped,ship}}'.")));
  pg_unreachable();
}

std::string_view string_at(const Strings &strings, int number) {
  return view_of(DatumGetTextPP(strings.values[number]));
}

text *diagram_of(const Strings &initial, const Strings &transitions, int width) {
  std::vector<std::string_view> births;
  std::vector<Edge> edges;
  births.reserve(initial.count);
  edges.reserve(transitions.count / width);
  for (int i = 0; i < initial.count; i++) births.push_back(string_at(initial, i));
  for (int i = 0; i + width <= transitions.count; i += width)
    edges.push_back({string_at(transitions, i), string_at(transitions, i + 1),
                     width == 3 ? string_at(transitions, i + 2) : std::string_view()});
  const std::string drawn =
      idem::machines::draw_mermaid(idem::machines::read_edges(births, edges), {});
  return idem::server::inward(
      [&drawn] { return cstring_to_text_with_len(drawn.data(), static_cast<int>(drawn.size())); });
}

}  // namespace

IDEM_FUNCTION(idem_machine_define) {
  idem::server::require_writable("idem_machine_define()");
  return Int32GetDatum(define(
      fcinfo, idem::server::required_text(fcinfo, 1, "diagram", idem::machines::kMaxDiagramBytes)));
}

IDEM_FUNCTION(idem_machine_define_edges) {
  idem::server::require_writable("idem_machine_define()");
  // In flat memory before anything with a destructor is alive.
  Strings initial = strings_of(fcinfo, 1, "initial");
  Strings transitions = strings_of(fcinfo, 2, "transitions");
  const int width = width_of(PG_GETARG_ARRAYTYPE_P(2));
  for (int i = 0; i < initial.count; i++)
    initial.values[i] = PointerGetDatum(DatumGetTextPP(initial.values[i]));
  for (int i = 0; i < transitions.count; i++)
    transitions.values[i] = PointerGetDatum(DatumGetTextPP(transitions.values[i]));
  return Int32GetDatum(define(fcinfo, diagram_of(initial, transitions, width)));
}
