#include "machines/judge.hpp"

#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "tables/row.hpp"

namespace idem::machines {

namespace {

constexpr int kListed = 10;

using Listed = bool (*)(const Machine &machine, StateIndex from, StateIndex state);

const char *list_states(const Machine &machine, StateIndex from, Listed listed) {
  StringInfoData list;
  initStringInfo(&list);
  int count = 0;
  for (StateIndex i = 0; i < machine.states; i++) {
    if (!listed(machine, from, i)) continue;
    count++;
    if (count <= kListed)
      appendStringInfo(&list, "%s\"%s\"", count == 1 ? "" : ", ", machine.state[i].name);
  }
  if (count > kListed) appendStringInfo(&list, " and %d more", count - kListed);
  return list.data;
}

bool is_initial(const Machine &machine, StateIndex, StateIndex state) {
  return machine.state[state].initial;
}

bool is_any(const Machine &, StateIndex, StateIndex) {
  return true;
}

bool is_way_out(const Machine &machine, StateIndex from, StateIndex state) {
  return state != from && machine.allows(from, state);
}

const char *quoted(const Position &position) {
  return position.text == nullptr ? "NULL" : psprintf("\"%s\"", position.text);
}

const char *place_of_move(const Move &move) {
  return psprintf("column \"%s\" of table \"%s\"",
                  get_attname(RelationGetRelid(move.relation), move.attachment->column, false),
                  RelationGetRelationName(move.relation));
}

const char *machine_of(const Move &move) {
  return psprintf("Machine \"%s\", version %d", move.edition->name, move.edition->version);
}

[[noreturn]] void refuse_transition(const Move &move) {
  const Machine &machine = *move.edition->machine;
  const bool final = move.from.state != kUnknown && machine.state[move.from.state].final;
  const char *ways = move.from.state == kUnknown ? list_states(machine, 0, is_initial)
                                                 : ways_out(machine, move.from.state);
  ereport(
      ERROR,
      (errcode(server::errcode_of(final ? sqlstate::kFinalState : sqlstate::kNotDeclared)),
       errmsg("%s cannot go from %s to %s", place_of_move(move), quoted(move.from),
              quoted(move.to)),
       final
           ? errdetail("%s, has %s as a final state.%s", machine_of(move), quoted(move.from),
                       tables::row_for_message(move.relation, move.attachment->column, move.slot))
           : errdetail("%s, allows %s from there.%s", machine_of(move), ways,
                       tables::row_for_message(move.relation, move.attachment->column, move.slot)),
       final ? errhint("Nothing leads out of a final state. Writing the same value again is "
                       "no transition, and succeeds.")
             : errhint("Read the row again before you change it; or declare the transition "
                       "with idem_machine_define."),
       errtablecol(move.relation, move.attachment->column)));
  pg_unreachable();
}

[[noreturn]] void refuse_birth(const Move &move) {
  ereport(ERROR,
          (errcode(server::errcode_of(sqlstate::kNotInitial)),
           errmsg("a row cannot start with %s in %s", quoted(move.to), place_of_move(move)),
           errdetail("%s, starts in %s.%s", machine_of(move),
                     list_states(*move.edition->machine, 0, is_initial),
                     tables::row_for_message(move.relation, move.attachment->column, move.slot)),
           errhint("Insert the row in an initial state and take it on from there. Rows that are "
                   "further on are loaded before the machine is attached."),
           errtablecol(move.relation, move.attachment->column)));
  pg_unreachable();
}

[[noreturn]] void refuse_state(const Move &move) {
  const bool old = move.to.state != kUnknown;
  const Position &unknown = old ? move.from : move.to;
  ereport(ERROR,
          (errcode(server::errcode_of(sqlstate::kUnknownState)),
           old ? errmsg("%s cannot leave %s, which is no state of its machine", place_of_move(move),
                        quoted(unknown))
               : errmsg("%s cannot be %s", place_of_move(move), quoted(unknown)),
           errdetail("%s, has the states %s.%s", machine_of(move),
                     list_states(*move.edition->machine, 0, is_any),
                     tables::row_for_message(move.relation, move.attachment->column, move.slot)),
           old ? errhint("Move such rows to a state with idem_machine_migrate.")
           : unknown.text == nullptr
               ? errhint("Attach the machine with allow_null => true for rows without a state.")
               : errhint("Check the spelling, or declare the state with idem_machine_define."),
           errtablecol(move.relation, move.attachment->column)));
  pg_unreachable();
}

}  // namespace

Verdict judge(const Move &move) {
  const Machine &machine = *move.edition->machine;
  if (move.to.text == nullptr) {
    const bool allowed = move.attachment->allow_null && (move.born || move.from.text == nullptr);
    if (!allowed) return Verdict::unknown_state;
    return move.born ? Verdict::allowed : Verdict::same;
  }
  if (move.born) return judge_birth(machine, move.to.state);
  // A row that a machine was put upon may keep what it has, and its other columns may change.
  if (move.from.text != nullptr && strcmp(move.from.text, move.to.text) == 0) return Verdict::same;
  if (move.from.text == nullptr) {
    const Verdict birth = judge_birth(machine, move.to.state);
    return birth == Verdict::not_initial ? Verdict::not_declared : birth;
  }
  return judge_change(machine, move.from.state, move.to.state);
}

void refuse(const Move &move, Verdict verdict) {
  if (verdict == Verdict::not_initial) refuse_birth(move);
  if (verdict == Verdict::unknown_state) refuse_state(move);
  refuse_transition(move);
}

const char *ways_out(const Machine &machine, StateIndex from) {
  const char *ways = list_states(machine, from, is_way_out);
  return ways[0] == '\0' ? "nothing" : ways;
}

}  // namespace idem::machines
