#include "ids/generator.hpp"

#include "ids/clock.hpp"
#include "server/arguments.hpp"
#include "server/compat.hpp"
#include "server/guard.hpp"
#include "server/names.hpp"
#include "server/prelude.hpp"

namespace idem::ids {

namespace {

// START of a sequence that nobody gave an epoch.
constexpr Millis kNoEpoch = 1;

// Later ones would have ids of times that no timestamp holds.
constexpr Millis kLastEpoch = kLastTime - kLastMillis;

HTAB *generators = nullptr;
Generator *latest = nullptr;

Generator *remembered(Oid sequence) {
  if (latest != nullptr && latest->sequence == sequence) return latest;
  if (generators == nullptr) return nullptr;
  auto *generator =
      static_cast<Generator *>(hash_search(generators, &sequence, HASH_FIND, nullptr));
  if (generator != nullptr) latest = generator;
  return generator;
}

Generator *remember(const Generator &generator) {
  if (generators == nullptr) {
    HASHCTL control = {};
    control.keysize = sizeof(Oid);
    control.entrysize = sizeof(Generator);
    generators = hash_create("sequences for ids", 16, &control, HASH_ELEM | HASH_BLOBS);
  }
  latest =
      static_cast<Generator *>(hash_search(generators, &generator.sequence, HASH_ENTER, nullptr));
  *latest = generator;
  return latest;
}

// One look into the lock table for each transaction instead of one for each id. The lock is the
// transaction's: rolling back to a savepoint must not lose it.
void lock_until_commit(Generator *generator) {
  const LocalTransactionId transaction = server::local_transaction();
  if (generator->locked_in == transaction) return;
  const ResourceOwner owner = CurrentResourceOwner;
  CurrentResourceOwner = TopTransactionResourceOwner;
  LockRelationOid(generator->sequence, RowExclusiveLock);
  CurrentResourceOwner = owner;
  generator->locked_in = transaction;
}

[[noreturn]] void refuse_missing(Oid sequence) {
  ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
                  errmsg("sequence with OID %u does not exist", sequence),
                  errhint("Make one with idem_snowflake_create.")));
  pg_unreachable();
}

void require_sequence(Oid sequence, char kind) {
  if (kind == RELKIND_SEQUENCE) return;
  if (kind == '\0') refuse_missing(sequence);
  ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                  errmsg("%s is not a sequence", server::qualified_name(sequence)),
                  errhint("Make one with idem_snowflake_create.")));
}

void require_rights(Relation relation) {
  const AclResult result =
      pg_class_aclcheck(RelationGetRelid(relation), GetUserId(), ACL_USAGE | ACL_UPDATE);
  if (result != ACLCHECK_OK)
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                    errmsg("permission denied for sequence %s", RelationGetRelationName(relation)),
                    errhint("Ids need USAGE on their sequence, as nextval does.")));
}

// What an id was would be forgotten.
void require_permanence(Relation relation) {
  const char persistence = relation->rd_rel->relpersistence;
  if (persistence == RELPERSISTENCE_PERMANENT) return;
  if (persistence == RELPERSISTENCE_TEMP)
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("temporary sequence %s cannot make ids",
                           quote_identifier(RelationGetRelationName(relation))),
                    errdetail("Another session's sequence would give the same ids."),
                    errhint("Make a lasting one with idem_snowflake_create.")));
  const char *name = server::qualified_name(RelationGetRelid(relation));
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("unlogged sequence %s cannot make ids", name),
                  errdetail("A crash would set it back, and it would give ids again."),
                  errhint("Use ALTER SEQUENCE %s SET LOGGED.", name)));
}

// What ALTER SEQUENCE has to say for the sequence to be fit; empty when it is.
const char *missing_options(const FormData_pg_sequence &options) {
  StringInfoData missing;
  initStringInfo(&missing);
  if (options.seqtypid != INT8OID) appendStringInfoString(&missing, " AS bigint");
  if (options.seqincrement != 1) appendStringInfoString(&missing, " INCREMENT BY 1");
  if (options.seqmax != PG_INT64_MAX) appendStringInfoString(&missing, " NO MAXVALUE");
  if (options.seqcache != 1) appendStringInfoString(&missing, " CACHE 1");
  if (options.seqincrement < 0) appendStringInfoString(&missing, " NO MINVALUE START 1 RESTART");
  return missing.data;
}

[[noreturn]] void refuse_epoch(Oid sequence, int64 start) {
  ereport(ERROR,
          (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
           errmsg("START of sequence %s is no epoch", server::qualified_name(sequence)),
           errdetail("It is " INT64_FORMAT ". Ids count time from START, in milliseconds since "
                     "1970; 1 stands for 2025-01-01.",
                     start),
           errhint("Make a sequence with idem_snowflake_create, or, if this one has made no ids, "
                   "use ALTER SEQUENCE %s START 1 RESTART.",
                   server::qualified_name(sequence))));
  pg_unreachable();
}

FormData_pg_sequence options_of(Oid sequence) {
  HeapTuple tuple = SearchSysCache1(SEQRELID, ObjectIdGetDatum(sequence));
  if (!HeapTupleIsValid(tuple)) require_sequence(sequence, get_rel_relkind(sequence));
  if (!HeapTupleIsValid(tuple)) elog(ERROR, "cache lookup failed for sequence %u", sequence);
  const FormData_pg_sequence options = *reinterpret_cast<Form_pg_sequence>(GETSTRUCT(tuple));
  ReleaseSysCache(tuple);
  return options;
}

Millis epoch_in(const FormData_pg_sequence &options) {
  if (options.seqstart == kNoEpoch) return kDefaultEpoch;
  if (options.seqstart < kFirstEpoch || options.seqstart > kLastEpoch)
    refuse_epoch(options.seqrelid, options.seqstart);
  return options.seqstart;
}

void read_options(Generator *generator, Relation relation) {
  require_permanence(relation);
  const FormData_pg_sequence options = options_of(generator->sequence);
  const char *missing = missing_options(options);
  if (missing[0] != '\0')
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("sequence %s is not fit for making ids",
                    server::qualified_name(generator->sequence)),
             errdetail("Ids are of type bigint, grow by 1, have no maximum, and no session keeps "
                       "some of them for later."),
             errhint("Use ALTER SEQUENCE %s%s.", server::qualified_name(generator->sequence),
                     missing)));
  generator->start = options.seqstart;
  generator->epoch = epoch_in(options);
  generator->file = relation->rd_rel->relfilenode;
}

// Whether the file is undone no sooner than the sequence itself.
bool as_lasting_as_sequence(Relation relation, SubTransactionId file_maker) {
  return file_maker == InvalidSubTransactionId || file_maker == relation->rd_createSubid;
}

// The file holds the last id. If this transaction made it, rolling that back brings the former file
// and its last id into force, and what was drawn in between would be given again.
void require_lasting_file(Relation relation) {
  const server::FileMakers makers = server::file_makers(relation);
  if (as_lasting_as_sequence(relation, makers.first) &&
      as_lasting_as_sequence(relation, makers.last))
    return;
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("this transaction has altered or restarted sequence %s",
                         server::qualified_name(RelationGetRelid(relation))),
                  errdetail("Ids drawn now would be given again if that were rolled back."),
                  errhint("Commit it first.")));
}

}  // namespace

OpenGenerator open_generator(Oid sequence) {
  Generator fresh = {sequence, InvalidLocalTransactionId, InvalidOid, 0, 0};
  Generator *generator = remembered(sequence);
  if (generator == nullptr) generator = &fresh;
  lock_until_commit(generator);
  Relation relation = try_relation_open(sequence, NoLock);
  if (relation == nullptr) refuse_missing(sequence);
  require_sequence(sequence, relation->rd_rel->relkind);
  require_rights(relation);
  server::require_writable("idem_snowflake()");
  if (generator->file != relation->rd_rel->relfilenode) read_options(generator, relation);
  require_lasting_file(relation);
  // Anything can be passed as a sequence; what is none must not take memory for good.
  if (generator == &fresh) generator = remember(fresh);
  return {generator, relation};
}

void close_generator(const OpenGenerator &open) {
  relation_close(open.relation, NoLock);
}

void refuse_late_epoch(Oid sequence, Millis epoch) {
  const char *name = server::qualified_name(sequence);
  const char *start = pstrdup(timestamptz_to_str(timestamp_of(epoch)));
  ereport(ERROR,
          (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
           errmsg("START of sequence %s is an epoch that is still to come", name),
           errdetail("It is " INT64_FORMAT ", that is %s. The clock says %s.", epoch, start,
                     timestamptz_to_str(GetCurrentTimestamp())),
           errhint("Make a sequence with idem_snowflake_create, or use ALTER SEQUENCE %s START 1 "
                   "RESTART; unless the clock is wrong.",
                   name)));
  pg_unreachable();
}

Millis epoch_of(Oid sequence) {
  return epoch_in(options_of(sequence));
}

}  // namespace idem::ids
