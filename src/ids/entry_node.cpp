// idem_node_claim: the number of a generator of ids, leased to one holder at a time.

#include "ids/layout.hpp"
#include "locks/durable.hpp"
#include "records/claim.hpp"
#include "records/key.hpp"
#include "records/limits.hpp"
#include "records/request.hpp"
#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "server/rows.hpp"

namespace {

using idem::locks::NumberedChoice;
using idem::locks::NumberedLock;
using idem::locks::NumberedLocks;
using idem::records::BeginRequest;
using idem::records::Claim;
using idem::records::ClaimOutcome;
using idem::records::LockTerms;
using idem::records::RecordsTable;
using idem::records::ScopeSettings;

constexpr int kColumns = 6;

// What the separator and the longest number add to a lock's name.
constexpr std::size_t kNumberBytes = sizeof(":1023") - 1;

int bad_argument() {
  return idem::server::errcode_of(idem::sqlstate::kBadArgument);
}

// A longer pool would fit some of its numbers only.
const text *required_pool(FunctionCallInfo fcinfo) {
  constexpr std::size_t kMost = idem::records::kMaxKeyBytes - kNumberBytes;
  const text *pool = idem::server::required_text(fcinfo, 0, "pool", kMost);
  const std::size_t size = idem::records::size_in_key(idem::server::view_of(pool));
  if (size > kMost)
    ereport(ERROR,
            (errcode(bad_argument()), errmsg("pool is too long"),
             errdetail("As a part of a key it has %zu bytes; the limit is %zu.", size, kMost),
             errhint("Use a shorter name, or one without ':', '/' and '%%'.")));
  return pool;
}

const Interval *required_ttl(FunctionCallInfo fcinfo) {
  const Interval *ttl = idem::locks::read_ttl(fcinfo, 1);
  if (ttl == nullptr)
    ereport(ERROR, (errcode(bad_argument()), errmsg("ttl must not be null"),
                    errhint("Pass for example '5 minutes'.")));
  return ttl;
}

int32 required_node(FunctionCallInfo fcinfo, int number, const char *what) {
  if (PG_ARGISNULL(number))
    ereport(ERROR, (errcode(bad_argument()), errmsg("%s must not be null", what),
                    errhint("Pass 0 to %d.", idem::ids::kLastNode)));
  const int32 node = PG_GETARG_INT32(number);
  if (node < 0 || node > idem::ids::kLastNode)
    ereport(ERROR, (errcode(bad_argument()),
                    errmsg("%s must be between 0 and %d, not %d", what, idem::ids::kLastNode, node),
                    errhint("An id has %d bits for the number.", idem::ids::kNodeBits)));
  return node;
}

NumberedLocks required_numbers(FunctionCallInfo fcinfo) {
  const NumberedLocks numbers = {required_pool(fcinfo), required_node(fcinfo, 2, "first"),
                                 required_node(fcinfo, 3, "last")};
  if (numbers.first > numbers.last)
    ereport(ERROR, (errcode(bad_argument()), errmsg("first must not be greater than last"),
                    errdetail("The values are %d and %d.", numbers.first, numbers.last),
                    errhint("Pass the least and the greatest number that may be given out.")));
  return numbers;
}

// The first of them that can be had at once; null when none can.
const NumberedLock *take_one(const RecordsTable &table, const ScopeSettings &settings,
                             const NumberedChoice &choice, BeginRequest request, Claim *claim) {
  for (uint64 i = 0; i < choice.count; i++) {
    request.id = idem::locks::durable_lock(choice.locks[i].name);
    *claim = idem::records::begin(table, request, settings);
    if (claim->outcome == ClaimOutcome::started) return &choice.locks[i];
  }
  return nullptr;
}

Datum answer(FunctionCallInfo fcinfo, const NumberedLock *taken, const Claim &claim) {
  Datum values[kColumns] = {BoolGetDatum(taken != nullptr)};
  bool nulls[kColumns] = {false, true, true, true, true, true};
  if (taken != nullptr) {
    values[1] = Int32GetDatum(taken->number);
    values[2] = PointerGetDatum(taken->name);
    values[3] = claim.token.value;
    values[4] = claim.created_at.value;
    values[5] = claim.lease_expires_at.value;
    memset(nulls, 0, sizeof(nulls));
  }
  return idem::server::row_datum(fcinfo, values, nulls);
}

}  // namespace

IDEM_FUNCTION(idem_node_claim) {
  idem::server::require_writable("idem_node_claim()");
  const NumberedLocks numbers = required_numbers(fcinfo);
  const Interval no_wait = {};
  const LockTerms terms = {{0, true}, {0, true}};
  BeginRequest request = {};
  request.lease = required_ttl(fcinfo);
  request.wait = &no_wait;
  request.owner = idem::records::read_owner(fcinfo, 4);
  request.lock = &terms;
  const RecordsTable table = idem::locks::locks_table(fcinfo, AccessShareLock);
  // Before the search: whoever may not use the scope learns nothing of it.
  const ScopeSettings settings = idem::locks::lock_settings(table);
  Claim claim = {};
  const NumberedLock *taken =
      take_one(table, settings, idem::locks::free_locks(table, numbers), request, &claim);
  return answer(fcinfo, taken, claim);
}
