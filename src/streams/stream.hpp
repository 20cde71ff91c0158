// What idem_streams says about a stream, cached per session and read again after the table changed.

#pragma once

#include "server/prelude.hpp"
#include "streams/decision.hpp"
#include "streams/table.hpp"

namespace idem::streams {

struct StreamSettings {
  Policy policy;
  Micros retain;            // of producers
  bool has_message_retain;  // otherwise messages are kept as records are
  Interval message_retain;
  bool refresh;  // a repeated message prolongs its window
  Oid member;    // InvalidOid: everybody who may call the functions
};

// The settings of a stream, with the defaults for what it leaves open. Reads the newest committed
// row whatever the isolation level: settings are configuration, not data. Raises 42501 when the
// stream belongs to a role that the current user is not a member of.
StreamSettings stream_settings(const StreamTables &tables, const text *stream);

// The same for another role than the current user.
StreamSettings stream_settings_for(const StreamTables &tables, const text *stream, Oid role);

}  // namespace idem::streams
