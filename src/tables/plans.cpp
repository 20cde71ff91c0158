#include "tables/plans.hpp"

#include "server/prelude.hpp"

namespace idem::tables {

namespace {

constexpr int kKept = 64;

struct Kept {
  const char *sql;  // null: free
  const Oid *types;
  SPIPlanPtr plan;
  uint64 used;  // when last
  int parameters;
  int running;  // executions under way: a trigger may come back to us
};

Kept kept[kKept];
uint64 now = 0;

bool is_for(const Kept &one, const char *sql, int parameters, const Oid *types) {
  return one.sql != nullptr && one.parameters == parameters && strcmp(one.sql, sql) == 0 &&
         memcmp(one.types, types, parameters * sizeof(Oid)) == 0;
}

// Free, or the one that has not been used for longest; -1: all of them are running.
int place_for_another() {
  int best = -1;
  for (int i = 0; i < kKept; i++) {
    if (kept[i].running > 0) continue;
    if (kept[i].sql == nullptr) return i;
    if (best < 0 || kept[i].used < kept[best].used) best = i;
  }
  return best;
}

void give_up(Kept &one) {
  if (one.sql == nullptr) return;
  Kept former = one;
  one = {};
  (void)SPI_freeplan(former.plan);
  pfree(const_cast<char *>(former.sql));
  pfree(const_cast<Oid *>(former.types));
}

void keep(Kept &one, const char *sql, int parameters, const Oid *types, SPIPlanPtr plan) {
  const char *text = MemoryContextStrdup(TopMemoryContext, sql);
  auto *copy = static_cast<Oid *>(MemoryContextAlloc(TopMemoryContext, parameters * sizeof(Oid)));
  memcpy(copy, types, parameters * sizeof(Oid));
  if (SPI_keepplan(plan) != 0) elog(ERROR, "cannot keep the plan of \"%s\"", sql);
  one = {text, copy, plan, 0, parameters, 0};
}

}  // namespace

Plan plan_for(const char *sql, int parameters, const Oid *types) {
  for (int i = 0; i < kKept; i++)
    if (is_for(kept[i], sql, parameters, types)) return {kept[i].plan, i};
  SPIPlanPtr plan = SPI_prepare(sql, parameters, const_cast<Oid *>(types));
  if (plan == nullptr) elog(ERROR, "\"%s\" failed: %s", sql, SPI_result_code_string(SPI_result));
  const int place = place_for_another();
  if (place < 0) return {plan, -1};
  give_up(kept[place]);
  keep(kept[place], sql, parameters, types, plan);
  return {plan, place};
}

int execute_plan(const Plan &plan, Datum *values, const char *nulls, bool read_only, long limit) {
  if (plan.place < 0) return SPI_execute_plan(plan.plan, values, nulls, read_only, limit);
  volatile int code = 0;
  kept[plan.place].used = ++now;
  kept[plan.place].running++;
  PG_TRY();
  { code = SPI_execute_plan(plan.plan, values, nulls, read_only, limit); }
  PG_FINALLY();
  { kept[plan.place].running--; }
  PG_END_TRY();
  return code;
}

}  // namespace idem::tables
