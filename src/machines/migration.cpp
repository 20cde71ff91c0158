#include "machines/migration.hpp"

#include "server/prelude.hpp"

namespace idem::machines {

const Migration *migration = nullptr;

bool is_migrated(const Attachment &attachment, const char *from, const char *to) {
  if (migration == nullptr || from == nullptr || to == nullptr) return false;
  if (strcmp(migration->label, attachment.label) != 0) return false;
  for (int i = 0; i < migration->replaced; i++)
    if (strcmp(migration->from[i], from) == 0 && strcmp(migration->to[i], to) == 0) return true;
  return false;
}

}  // namespace idem::machines
