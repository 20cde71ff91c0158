// Ancestors and descendants of tables, by inheritance or partitioning, as the catalog has them now.
// No relation is locked, and those found need not exist any more.

#pragma once

#include "server/prelude.hpp"

namespace idem::server {

List *parents_of(Oid relation);

// Each once, the relation itself first.
List *descendants_of(Oid relation);
List *ancestors_of(Oid relation);

// Whether a relation is another, or a partition or child of it. A child that has been detached is a
// table of its own.
bool descends_from(Oid relation, Oid ancestor);

}  // namespace idem::server
