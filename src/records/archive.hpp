// The archive: what scopes with on_expiry => 'archive' keep of expired records.

#pragma once

#include "server/months.hpp"
#include "server/prelude.hpp"
#include "server/statement.hpp"

namespace idem::records {

// The columns of idem_records, which idem_archive has as well.
#define IDEM_RECORD_COLUMNS                                                                   \
  "scope, key, token, attempt, created_at, lease_expires_at, expires_at, owner, fingerprint," \
  " checkpoint, checkpoint_data, status, completed_at, code, result, body"

// By the month in which records are moved there. A key may be archived many times.
inline constexpr server::MonthlyTable kArchive = {"idem_archive", "archived_at",
                                                  "(key, scope, archived_at)"};

// Whether any scope wants its expired records archived.
bool archives_records(const server::Home &home);

}  // namespace idem::records
