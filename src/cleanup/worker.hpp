// The short-lived worker that cleans one database up; see README.md.

#pragma once

#include "server/prelude.hpp"

namespace idem::cleanup {

// What the launcher hands to a worker besides the database's OID.
struct WorkerOrder {
  Oid role;        // as whom to connect; InvalidOid is the bootstrap superuser
  bool requested;  // by somebody who wants tables tried that are left alone after failures
};

inline constexpr char kWorkerMain[] = "idem_cleanup_worker_main";

// One visit to the database. Runs in the worker's process and returns when it is over.
void visit_database(Oid database, const WorkerOrder &order);

}  // namespace idem::cleanup
