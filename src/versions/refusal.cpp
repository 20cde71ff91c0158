#include "versions/refusal.hpp"

#include "server/guard.hpp"
#include "server/prelude.hpp"
#include "versions/bump.hpp"

namespace idem::versions {

namespace {

const char *column_of(const Conflict &conflict) {
  return get_attname(RelationGetRelid(conflict.relation), conflict.attachment->column, false);
}

// What the update had to carry.
const char *demand(const Conflict &conflict) {
  const char *column = column_of(conflict);
  const auto stored = static_cast<long long>(conflict.stored);
  switch (conflict.attachment->mode) {
    case Mode::expect:
      return psprintf("In mode expect an update must carry %lld in column \"%s\".", stored, column);
    case Mode::client:
      return psprintf("In mode client an update must write %lld to column \"%s\".", stored + 1,
                      column);
    default:
      return psprintf("In mode where an update may write %lld or %lld to column \"%s\".", stored,
                      stored + 1, column);
  }
}

[[noreturn]] void refuse_exhausted(const Conflict &conflict, const char *row) {
  ereport(
      ERROR,
      (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
       errmsg("a row in table \"%s\" has had its last version, %lld",
              RelationGetRelationName(conflict.relation), static_cast<long long>(conflict.stored)),
       row[0] == '\0' ? 0 : errdetail("%s", row + 1),
       conflict.attachment->big
           ? errhint("Detach the check, write lower versions, and attach it again.")
           : errhint("Detach the check, change column \"%s\" to bigint, and attach it again.",
                     column_of(conflict)),
       errtablecol(conflict.relation, conflict.attachment->column)));
  pg_unreachable();
}

constexpr const char *kAgain = "Read the row again, and repeat the change on what it is now.";

// A client that was overtaken, or an update that says nothing of the version in a mode in which it
// must: the two look alike.
const char *hint_for(const Conflict &conflict) {
  if (conflict.attachment->mode != Mode::client || conflict.written != conflict.stored)
    return kAgain;
  const char *hint = psprintf("%s An update sets \"%s\" to the version that was read, plus 1.",
                              kAgain, column_of(conflict));
  if (trigger_depth() <= 1) return hint;
  return psprintf("%s A cascade of a foreign key cannot: a table with one needs another mode.",
                  hint);
}

[[noreturn]] void refuse_as_stale(Relation relation, AttrNumber column, const char *expected,
                                  std::int64_t stored, const char *detail, const char *hint) {
  ereport(ERROR,
          (errcode(server::errcode_of(sqlstate::kStaleVersion)),
           errmsg("stale version of a row in table \"%s\": expected %s, actual %lld",
                  RelationGetRelationName(relation), expected, static_cast<long long>(stored)),
           errdetail("%s", detail), errhint("%s", hint), errtablecol(relation, column)));
  pg_unreachable();
}

const char *text_of(std::int64_t version) {
  return psprintf("%lld", static_cast<long long>(version));
}

// A client that writes the next version has read the one before. The lowest number has none.
const char *expected_by(const Conflict &conflict) {
  if (conflict.written_null) return "NULL";
  const bool next = conflict.attachment->mode == Mode::client && conflict.written != PG_INT64_MIN;
  return text_of(next ? conflict.written - 1 : conflict.written);
}

}  // namespace

void refuse_argument(const char *problem, const char *hint) {
  ereport(ERROR, (errcode(server::errcode_of(sqlstate::kBadArgument)), errmsg("%s", problem),
                  errhint("%s", hint)));
  pg_unreachable();
}

void refuse(const Conflict &conflict, Verdict verdict, const char *row) {
  if (verdict == Verdict::exhausted) refuse_exhausted(conflict, row);
  refuse_as_stale(conflict.relation, conflict.attachment->column, expected_by(conflict),
                  conflict.stored, psprintf("%s%s", demand(conflict), row), hint_for(conflict));
}

void refuse_stale(Relation relation, AttrNumber column, std::int64_t expected, std::int64_t stored,
                  const char *detail) {
  refuse_as_stale(relation, column, text_of(expected), stored, detail, kAgain);
}

}  // namespace idem::versions
