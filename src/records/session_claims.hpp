// The tokens of the claims that this session made last, so that a caller on one connection need not
// carry them. A convenience only: a token found here is still checked against the record, and a
// lost one can be passed by the caller. Bounded, so that a session that claims for ever does not
// grow.

#pragma once

#include <cstdint>
#include <optional>

#include "records/store.hpp"

namespace idem::records {

void remember_claim(const Identity &id, std::int64_t token);
std::optional<std::int64_t> remembered_token(const Identity &id);

}  // namespace idem::records
