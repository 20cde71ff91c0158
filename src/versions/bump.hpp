// Rows that idem_cas() is to give a new version although it changes nothing about them.

#pragma once

#include "server/inheritance.hpp"
#include "server/prelude.hpp"

namespace idem::versions {

// The table that it is at work on, or InvalidOid. Whoever sets it puts the former one back, also
// after an error.
extern Oid bumped_table;

inline bool is_bumped(Relation relation) {
  return OidIsValid(bumped_table) &&
         server::descends_from(RelationGetRelid(relation), bumped_table);
}

}  // namespace idem::versions
