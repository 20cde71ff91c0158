#include "versions/refusal.hpp"

#include "server/guard.hpp"
#include "server/prelude.hpp"

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

// An update that says nothing of the version, in a mode in which it must.
[[noreturn]] void refuse_silent(const Conflict &conflict, const char *row) {
  ereport(ERROR, (errcode(server::errcode_of(sqlstate::kStaleVersion)),
                  errmsg("an update of table \"%s\" leaves version %lld of a row as it is",
                         RelationGetRelationName(conflict.relation),
                         static_cast<long long>(conflict.stored)),
                  errdetail("%s%s", demand(conflict), row),
                  errhint("Set \"%s\" to the version that was read, plus 1; or attach the check in "
                          "another mode.",
                          column_of(conflict)),
                  errtablecol(conflict.relation, conflict.attachment->column)));
  pg_unreachable();
}

}  // namespace

void refuse(const Conflict &conflict, Verdict verdict, const char *row) {
  if (verdict == Verdict::exhausted) refuse_exhausted(conflict, row);
  const bool client = conflict.attachment->mode == Mode::client;
  if (!conflict.written_null && client && conflict.written == conflict.stored)
    refuse_silent(conflict, row);
  if (conflict.written_null)
    ereport(ERROR, (errcode(server::errcode_of(sqlstate::kStaleVersion)),
                    errmsg("stale version of a row in table \"%s\": expected NULL, actual %lld",
                           RelationGetRelationName(conflict.relation),
                           static_cast<long long>(conflict.stored)),
                    errdetail("%s%s", demand(conflict), row),
                    errtablecol(conflict.relation, conflict.attachment->column)));
  // A client that writes the next version has read the one before. The lowest number has none.
  const bool before = client && conflict.written != PG_INT64_MIN;
  refuse_stale(conflict.relation, conflict.attachment->column,
               before ? conflict.written - 1 : conflict.written, conflict.stored,
               psprintf("%s%s", demand(conflict), row));
}

void refuse_stale(Relation relation, AttrNumber column, std::int64_t expected, std::int64_t stored,
                  const char *detail) {
  ereport(ERROR, (errcode(server::errcode_of(sqlstate::kStaleVersion)),
                  errmsg("stale version of a row in table \"%s\": expected %lld, actual %lld",
                         RelationGetRelationName(relation), static_cast<long long>(expected),
                         static_cast<long long>(stored)),
                  errdetail("%s", detail),
                  errhint("Read the row again, and repeat the change on what it is now."),
                  errtablecol(relation, column)));
  pg_unreachable();
}

}  // namespace idem::versions
