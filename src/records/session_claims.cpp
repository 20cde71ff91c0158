#include "records/session_claims.hpp"

#include "server/prelude.hpp"

namespace idem::records {

namespace {

constexpr int kRemembered = 1024;

// Claims are found by a 64-bit hash of scope and key. A collision yields the token of another
// claim, which no record of this key can carry, as all tokens come from one sequence: the caller is
// told to pass it.
struct Remembered {
  uint64 hash;
  RememberedTokens tokens;
  int position;  // in `order`
};

HTAB *claims = nullptr;
// A ring of the hashes in order of arrival; the oldest is forgotten first.
uint64 order[kRemembered];
int next = 0;

void prepare() {
  if (claims != nullptr) return;
  HASHCTL control = {};
  control.keysize = sizeof(uint64);
  control.entrysize = sizeof(Remembered);
  claims = hash_create("pg_idem session claims", kRemembered, &control, HASH_ELEM | HASH_BLOBS);
}

void forget_oldest() {
  const auto *oldest =
      static_cast<const Remembered *>(hash_search(claims, &order[next], HASH_FIND, nullptr));
  if (oldest != nullptr && oldest->position == next)
    (void)hash_search(claims, &order[next], HASH_REMOVE, nullptr);
}

}  // namespace

void remember_claim(const Identity &id, std::int64_t token) {
  prepare();
  const uint64 hash = hash_of(id, 0);
  forget_oldest();
  bool known;
  auto *entry = static_cast<Remembered *>(hash_search(claims, &hash, HASH_ENTER, &known));
  entry->tokens = {token, known ? entry->tokens.latest : 0};
  entry->position = next;
  order[next] = hash;
  next = (next + 1) % kRemembered;
}

std::optional<RememberedTokens> remembered_tokens(const Identity &id) {
  if (claims == nullptr) return std::nullopt;
  const uint64 hash = hash_of(id, 0);
  const auto *entry =
      static_cast<const Remembered *>(hash_search(claims, &hash, HASH_FIND, nullptr));
  if (entry == nullptr) return std::nullopt;
  return entry->tokens;
}

}  // namespace idem::records
