// Moving rows to another version, or out of states that a machine gives up. Only then may a row
// change its state without a transition.

#pragma once

#include "machines/attachment.hpp"
#include "server/prelude.hpp"

namespace idem::machines {

// The states to replace, while idem_machine_migrate() is at work on an attachment.
struct Migration {
  const char *label;
  int replaced;
  const char *const *from;
  const char *const *to;
};

// Null unless rows are being migrated. Whoever sets it puts the former one back, also after an
// error.
extern const Migration *migration;

// Whether the change is what is being migrated.
bool is_migrated(const Attachment &attachment, const char *from, const char *to);

}  // namespace idem::machines
