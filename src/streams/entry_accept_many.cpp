// idem_accept_many: a set of numbered messages in one step, such as those of a staging table.

#include <algorithm>

#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "server/rows.hpp"
#include "streams/call.hpp"
#include "streams/refusal.hpp"
#include "streams/store.hpp"

namespace {

using idem::streams::Call;
using idem::streams::Producer;
using idem::streams::Ruling;
using idem::streams::Selection;
using idem::streams::Step;

struct Numbers {
  std::int64_t *values;  // sorted, each once
  std::size_t count;
  std::size_t first_new;
};

[[noreturn]] void refuse_numbers(const char *why) {
  ereport(ERROR, (errcode(idem::server::errcode_of(idem::sqlstate::kBadArgument)),
                  errmsg("seqs must not %s", why),
                  errhint("A producer numbers its messages, from 1 on.")));
  pg_unreachable();
}

Numbers read_numbers(FunctionCallInfo fcinfo, int number) {
  if (PG_ARGISNULL(number)) refuse_numbers("be null");
  ArrayType *array = PG_GETARG_ARRAYTYPE_P(number);
  if (array_contains_nulls(array)) refuse_numbers("hold a null");
  const auto count = static_cast<std::size_t>(ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)));
  Numbers numbers = {};
  numbers.values = static_cast<std::int64_t *>(
      palloc_extended(sizeof(std::int64_t) * (count + 1), MCXT_ALLOC_HUGE));
  memcpy(numbers.values, ARR_DATA_PTR(array), sizeof(std::int64_t) * count);
  std::sort(numbers.values, numbers.values + count);
  numbers.count = static_cast<std::size_t>(std::unique(numbers.values, numbers.values + count) -
                                           numbers.values);
  if (numbers.count > 0 && numbers.values[0] < 1) refuse_numbers("hold a number less than 1");
  return numbers;
}

Selection select(const Call &call, const Numbers &numbers, const Producer &producer) {
  const Step right = decide_epoch(producer.state, call.epoch, call.now);
  if (right != Step::accept) return {right, 0, 0};
  if (numbers.count == 0) return {Step::duplicate, 0, 0};
  return select_new(producer.state, producer.window.recent, call.settings.policy, numbers.values,
                    numbers.count);
}

Ruling judge(const Call &call, Numbers &numbers, Producer *producer, bool settled) {
  if (producer == nullptr) idem::streams::refuse_unknown(call.stream, call.producer_id);
  const idem::streams::Policy &policy = call.settings.policy;
  const Selection selection = select(call, numbers, *producer);
  if (selection.step != Step::accept && selection.step != Step::duplicate) {
    if (!settled && !is_final(selection.step)) return Ruling::settle;
    const std::int64_t meant = numbers.count > 0 ? numbers.values[selection.place] : 0;
    refuse(selection.step, *producer, policy, {call.epoch, meant, meant}, selection.missing);
  }
  const bool prolonged = prolong(producer->state, call);
  numbers.first_new = selection.step == Step::accept ? selection.place : numbers.count;
  if (selection.step == Step::duplicate) return prolonged ? Ruling::write : Ruling::leave;
  append(*producer, {numbers.values[selection.place], numbers.values[numbers.count - 1]}, {0, true},
         {0, true}, policy);
  return Ruling::write;
}

}  // namespace

IDEM_FUNCTION(idem_accept_many) {
  const Call call = idem::streams::read_call(fcinfo, "idem_accept_many()");
  Numbers numbers = read_numbers(fcinfo, 3);
  const idem::server::Rows rows = idem::server::begin_rows(fcinfo);
  consult(call.tables, call.stream, call.producer_id,
          [&call, &numbers](Producer *producer, bool settled) {
            return judge(call, numbers, producer, settled);
          });
  for (std::size_t i = numbers.first_new; i < numbers.count; i++) {
    Datum value = Int64GetDatum(numbers.values[i]);
    bool null = false;
    rows.add(&value, &null);
  }
  return Datum{0};
}
