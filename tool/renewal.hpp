// Renewing a lease, once.

#pragma once

#include <string>

#include "tool/lease.hpp"
#include "tool/session.hpp"

namespace idem::tool {

// The statement that renews; it returns the seconds that are left.
struct Renewal {
  std::string sql;
  Row parameters;
};

// Runs the statement and reckons the lease from before it was sent.
Lease renew(Session &session, const Renewal &renewal, TimePoint deadline);

}  // namespace idem::tool
