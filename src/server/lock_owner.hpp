// Who a lock belongs to that is acquired and released within one call.

#pragma once

#include "server/prelude.hpp"

namespace idem::server {

// A statement's locks belong to its portal, those of a finished subtransaction to the transaction
// round it. What is acquired and released by one call must belong to the same owner both times.
template <typename Call>
void with_transaction_as_owner(Call call) {
  // An ERROR needs no undoing here: ending the (sub)transaction sets the owner.
  const ResourceOwner owner = CurrentResourceOwner;
  CurrentResourceOwner = CurTransactionResourceOwner;
  call();
  CurrentResourceOwner = owner;
}

}  // namespace idem::server
