// Values of a status column as states of a machine, and back.

#pragma once

#include "machines/editions.hpp"
#include "server/prelude.hpp"

namespace idem::machines {

enum class Representation {
  bytes,        // text and varchar whose equality is that of bytes
  number,       // smallint, integer, bigint
  enumeration,  // an enum
  compared      // citext, and text under a collation with an equality of its own
};

// The type of a status column, a domain resolved to what it is over.
struct ColumnType {
  Oid type;
  Oid collation;
  Representation representation;
  FmgrInfo equal;  // with `compared`
};

// Fills `described`, whose function lives in CurrentMemoryContext. False for a type that cannot
// hold states.
bool describe_column(Oid type, Oid collation, ColumnType *described);

// What the states of an edition are in a column, in CurrentMemoryContext.
struct StateMap {
  const Edition *edition;
  NullableDatum *values;  // null: the type has no such value
};
StateMap *map_states(const ColumnType &column, const Edition *edition);

// The first state that the column cannot hold, or takes for an earlier one; kUnknown: there is
// none.
StateIndex unusable_state(const ColumnType &column, const StateMap &map);

// kUnknown for a value that is no state. The value may be toasted.
StateIndex state_of(const ColumnType &column, const StateMap &map, Datum value);

// The value as text, for people.
char *text_of_value(const ColumnType &column, Datum value);

}  // namespace idem::machines
