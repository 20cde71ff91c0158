// What a caller is told: a look at a record, or a grant, as a Claim.

#pragma once

#include "records/claim.hpp"
#include "records/decision.hpp"
#include "records/store.hpp"
#include "server/prelude.hpp"

namespace idem::records {

// The claim is the caller's, as new or as the next attempt at what `record` had begun.
Claim started(const Grant &grant, std::int32_t attempt, TimestampTz expires_at);
// Or it is over already.
Claim settled(const Grant &grant);
Claim resumed(const Grant &grant, const Handover &handover, const Record &record);

// The verdict on what was seen, where that gives the caller no claim.
Claim answer(const BeginVerdict &verdict, const Sighting &sighting);

// Somebody else has the key.
Claim busy(const Sighting &sighting, Micros retry_after);

}  // namespace idem::records
