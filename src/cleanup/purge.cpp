#include "cleanup/purge.hpp"

#include "records/archive.hpp"
#include "server/prelude.hpp"
#include "server/statement.hpp"

namespace idem::cleanup {

namespace {

using server::Statement;

#define DOOMED                                                        \
  "WITH doomed AS MATERIALIZED (SELECT scope, key FROM @idem_records" \
  " WHERE expires_at OPERATOR(pg_catalog.<=) $1"                      \
  " AND (status OPERATOR(pg_catalog.<>) 'in_progress'"                \
  " OR lease_expires_at OPERATOR(pg_catalog.<=) $1)"                  \
  " ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)"
#define DELETE_DOOMED                                  \
  " DELETE FROM @idem_records AS r USING doomed"       \
  " WHERE r.scope OPERATOR(pg_catalog.=) doomed.scope" \
  " AND r.key OPERATOR(pg_catalog.=) doomed.key"

// Rows are found by key, not by ctid, and chosen once, not by each partition, so that a partitioned
// table is purged as well.
Statement delete_statement = {DOOMED DELETE_DOOMED, 2, {TIMESTAMPTZOID, INT8OID}};

Statement move_statement = {DOOMED
                            ", gone AS (" DELETE_DOOMED
                            " RETURNING r.*),"
                            " kept AS (INSERT INTO @idem_archive (archived_at, " IDEM_RECORD_COLUMNS
                            ")"
                            " SELECT $1, " IDEM_RECORD_COLUMNS
                            " FROM gone WHERE EXISTS (SELECT FROM @idem_scopes AS s"
                            " WHERE s.scope OPERATOR(pg_catalog.=) gone.scope"
                            " AND s.on_expiry OPERATOR(pg_catalog.=) 'archive')) SELECT FROM gone",
                            2,
                            {TIMESTAMPTZOID, INT8OID}};

#undef DOOMED
#undef DELETE_DOOMED

}  // namespace

std::int64_t purge(const Premises &premises, const Rule &rule, TimestampTz now,
                   std::int64_t limit) {
  const bool archiving = OidIsValid(rule.archive);
  if (archiving) server::provide_partitions(records::kArchive, premises.home, now);
  Datum values[] = {TimestampTzGetDatum(now), Int64GetDatum(limit)};
  return static_cast<std::int64_t>(server::execute(archiving ? move_statement : delete_statement,
                                                   premises.home, values, nullptr));
}

}  // namespace idem::cleanup
