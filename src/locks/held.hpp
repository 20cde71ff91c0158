// Which durable locks are held, as a condition over idem_records.

#pragma once

// A lock that was lost stays shut for the milliseconds in its code, one that rests has a code
// although it was released.
#define IDEM_LOCK_IS_HELD                                                         \
  "scope OPERATOR(pg_catalog.=) 'idem.lock'"                                      \
  " AND (status OPERATOR(pg_catalog.=) 'in_progress'"                             \
  " OR status OPERATOR(pg_catalog.=) 'released' AND code IS NOT NULL)"            \
  " AND lease_expires_at OPERATOR(pg_catalog.+) pg_catalog.make_interval(secs =>" \
  " COALESCE(code, 0) OPERATOR(pg_catalog./) 1000.0)"                             \
  " OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()"
