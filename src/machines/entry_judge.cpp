// idem_can_transition and idem_check_transition: asking a machine without a table.

#include "machines/arguments.hpp"
#include "machines/definition.hpp"
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

// What was asked at this place of a query, which mostly asks about one machine.
struct Asked {
  idem::machines::Place place;
  idem::machines::Known known;
};

Asked &asked_at(FunctionCallInfo fcinfo) {
  FmgrInfo *function = fcinfo->flinfo;
  if (function->fn_extra == nullptr) {
    auto *asked = static_cast<Asked *>(MemoryContextAllocZero(function->fn_mcxt, sizeof(Asked)));
    asked->place = idem::machines::place_of(function->fn_oid);
    function->fn_extra = asked;
  }
  return *static_cast<Asked *>(function->fn_extra);
}

const Edition *edition_asked_for(FunctionCallInfo fcinfo) {
  Asked &asked = asked_at(fcinfo);
  const text *name =
      idem::server::required_text(fcinfo, 0, "machine", idem::machines::kMaxNameBytes);
  const int version = idem::machines::version_argument(fcinfo, 3);
  if (idem::machines::is_known(asked.known, view_of(name), version)) return asked.known.edition;
  return idem::machines::look_up(asked.place, text_to_cstring(name), version, &asked.known);
}

StateIndex state_argument(const Edition *edition, NullableDatum argument) {
  if (argument.isnull) return idem::machines::kUnknown;
  return idem::machines::find_state(*edition->machine, view_of(DatumGetTextPP(argument.value)));
}

Question question_of(FunctionCallInfo fcinfo) {
  Question question = {};
  question.from = fcinfo->args[1];
  question.to = fcinfo->args[2];
  question.edition = edition_asked_for(fcinfo);
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
