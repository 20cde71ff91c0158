// The tokens of the claims that this session made last, so that a caller on one connection need not
// carry them. A convenience only: a token found here is still checked against the record, and a
// lost one can be passed by the caller. Bounded, so that a session that claims for ever does not
// grow.

#pragma once

#include <cstdint>
#include <optional>

#include "records/store.hpp"

namespace idem::records {

struct RememberedTokens {
  std::int64_t latest;
  // The one that `latest` replaced in this session, or 0. It counts again when the claim that drew
  // `latest` was rolled back.
  std::int64_t before;
};

void remember_claim(const Identity &id, std::int64_t token);
std::optional<RememberedTokens> remembered_tokens(const Identity &id);

}  // namespace idem::records
