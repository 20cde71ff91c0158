// idem_can_transition and idem_check_transition: asking a machine without a table.

#include "machines/arguments.hpp"
#include "machines/editions.hpp"
#include "machines/judge.hpp"
#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace {

using idem::machines::Edition;
using idem::machines::StateIndex;
using idem::machines::Verdict;
using idem::server::errcode_of;
using idem::server::view_of;

struct Question {
  const Edition *edition;
  NullableDatum from;
  NullableDatum to;
  StateIndex from_state;
  StateIndex to_state;
};

// The machine that was asked last at this place of a query.
struct Asked {
  idem::machines::Place place;
};

const idem::machines::Place &place_for(FunctionCallInfo fcinfo) {
  FmgrInfo *function = fcinfo->flinfo;
  if (function->fn_extra == nullptr) {
    auto *asked = static_cast<Asked *>(MemoryContextAlloc(function->fn_mcxt, sizeof(Asked)));
    asked->place = idem::machines::place_of(function->fn_oid);
    function->fn_extra = asked;
  }
  return static_cast<const Asked *>(function->fn_extra)->place;
}

StateIndex state_argument(const Edition *edition, NullableDatum argument) {
  if (argument.isnull) return idem::machines::kUnknown;
  return idem::machines::find_state(*edition->machine, view_of(DatumGetTextPP(argument.value)));
}

Question question_of(FunctionCallInfo fcinfo) {
  Question question = {};
  question.from = fcinfo->args[1];
  question.to = fcinfo->args[2];
  const char *machine = idem::machines::required_machine(fcinfo, 0, "machine");
  question.edition = idem::machines::edition_of(place_for(fcinfo), machine,
                                                idem::machines::version_argument(fcinfo, 3));
  question.from_state = state_argument(question.edition, question.from);
  question.to_state = state_argument(question.edition, question.to);
  return question;
}

Verdict judge(const Question &question) {
  const idem::machines::Machine &machine = *question.edition->machine;
  if (question.from.isnull) return idem::machines::judge_birth(machine, question.to_state);
  if (question.from_state == idem::machines::kUnknown) return Verdict::unknown_state;
  return idem::machines::judge_change(machine, question.from_state, question.to_state);
}

bool is_success(Verdict verdict) {
  return verdict == Verdict::same || verdict == Verdict::allowed;
}

const char *quoted(NullableDatum state) {
  return state.isnull ? "NULL" : psprintf("\"%s\"", TextDatumGetCString(state.value));
}

[[noreturn]] void refuse_state(const Question &question) {
  const bool from = !question.from.isnull && question.from_state == idem::machines::kUnknown;
  ereport(ERROR, (errcode(errcode_of(idem::sqlstate::kUnknownState)),
                  errmsg("%s is no state of machine \"%s\", version %d",
                         quoted(from ? question.from : question.to), question.edition->name,
                         question.edition->version),
                  errhint("Check the spelling, or declare the state with idem_machine_define.")));
  pg_unreachable();
}

[[noreturn]] void refuse(const Question &question, Verdict verdict) {
  if (verdict == Verdict::unknown_state) refuse_state(question);
  const char *code = verdict == Verdict::final_state   ? idem::sqlstate::kFinalState
                     : verdict == Verdict::not_initial ? idem::sqlstate::kNotInitial
                                                       : idem::sqlstate::kNotDeclared;
  ereport(ERROR,
          (errcode(MAKE_SQLSTATE(code[0], code[1], code[2], code[3], code[4])),
           errmsg("machine \"%s\", version %d, does not go from %s to %s", question.edition->name,
                  question.edition->version, quoted(question.from), quoted(question.to)),
           question.from.isnull ? errdetail("%s is not an initial state.", quoted(question.to))
                                : errdetail("From %s it goes to %s.", quoted(question.from),
                                            idem::machines::ways_out(*question.edition->machine,
                                                                     question.from_state)),
           errhint("Declare the transition with idem_machine_define, or ask idem_can_transition "
                   "first.")));
  pg_unreachable();
}

}  // namespace

IDEM_FUNCTION(idem_can_transition) {
  return BoolGetDatum(is_success(judge(question_of(fcinfo))));
}

IDEM_FUNCTION(idem_check_transition) {
  const Question question = question_of(fcinfo);
  const Verdict verdict = judge(question);
  if (!is_success(verdict)) refuse(question, verdict);
  PG_RETURN_VOID();
}
