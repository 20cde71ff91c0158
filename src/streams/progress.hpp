// How far producers got within a statement. A row of idem_producers that is written for every row
// of a table would become a chain of versions that each next look has to walk; so the first message
// of a producer is written, those after it are accepted in memory, and the last state is written
// when the statement ends, or else before anybody asks or the transaction ends.

#pragma once

#include "server/prelude.hpp"
#include "streams/call.hpp"

namespace idem::streams {

// Whether the message is new. Raises what idem_accept raises. `function` is one of the extension's.
bool accept_number(Oid function, const Call &call, std::int64_t seq);

// Writes what was accepted in memory only, and forgets it: what follows is accepted by the rows.
void write_progress();

}  // namespace idem::streams
