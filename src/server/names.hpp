// Names of relations for SQL and for messages.

#pragma once

#include "server/prelude.hpp"

namespace idem::server {

// Qualified and quoted, in the current memory context; null when there is no such relation.
inline const char *qualified_name(Oid relation) {
  const char *schema = get_namespace_name(get_rel_namespace(relation));
  const char *name = get_rel_name(relation);
  return schema != nullptr && name != nullptr ? quote_qualified_identifier(schema, name) : nullptr;
}

}  // namespace idem::server
