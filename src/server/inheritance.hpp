// Parents and children of tables, by inheritance or partitioning, one generation. No relation is
// locked, and none needs to exist any more.

#pragma once

#include "server/prelude.hpp"

namespace idem::server {

List *parents_of(Oid relation);
List *children_of(Oid relation);

}  // namespace idem::server
