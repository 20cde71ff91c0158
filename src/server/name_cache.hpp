// What a table of settings says about a name, cached per session and read again after the table
// changed. The table has to invalidate its relcache entry when rows change.

#pragma once

#include "server/prelude.hpp"

namespace idem::server {

// Give it static storage. A value must be trivially copyable, and name none longer than the limit
// may be looked up.
template <typename Value, std::size_t kMaxNameBytes>
class NameCache {
 public:
  constexpr explicit NameCache(const char *label) : label_(label) {}

  // Calls read(Value &) when the name is not cached; the value is all zeros then.
  template <typename Read>
  Value look_up(Oid table, const text *name, Read read) {
    prepare(table);
    if (latest_ != nullptr && is_named(*latest_, name)) return latest_->value;
    Entry found = {};
    found.length = static_cast<uint32>(VARSIZE_ANY_EXHDR(name));
    memcpy(found.name, VARDATA_ANY(name), found.length);
    auto *entry = static_cast<Entry *>(hash_search(entries_, &found, HASH_FIND, nullptr));
    if (entry == nullptr) {
      disturbed_ = false;
      read(found.value);
      if (disturbed_) return found.value;
      entry = static_cast<Entry *>(hash_search(entries_, &found, HASH_ENTER, nullptr));
      entry->value = found.value;
    }
    latest_ = entry;
    return entry->value;
  }

 private:
  // A service with more names than this in one session reads some of them again.
  static constexpr long kMostEntries = 1024;

  // The key of the hash table is what comes before the value.
  struct Entry {
    uint32 length;
    char name[kMaxNameBytes];
    Value value;
  };

  static void on_relation_change(Datum argument, Oid relation) {
    auto *cache = reinterpret_cast<NameCache *>(DatumGetPointer(argument));
    cache->disturbed_ = true;
    if (!OidIsValid(relation) || relation == cache->table_) cache->stale_ = true;
  }

  static bool is_named(const Entry &entry, const text *name) {
    const Size length = VARSIZE_ANY_EXHDR(name);
    return entry.length == length && memcmp(entry.name, VARDATA_ANY(name), length) == 0;
  }

  void prepare(Oid table) {
    if (!watching_) {
      CacheRegisterRelcacheCallback(on_relation_change, PointerGetDatum(this));
      watching_ = true;
    }
    if (entries_ != nullptr &&
        (stale_ || table_ != table || hash_get_num_entries(entries_) >= kMostEntries)) {
      hash_destroy(entries_);
      entries_ = nullptr;
      latest_ = nullptr;
    }
    if (entries_ != nullptr) return;
    HASHCTL control = {};
    control.keysize = offsetof(Entry, name) + kMaxNameBytes;
    control.entrysize = sizeof(Entry);
    entries_ = hash_create(label_, 16, &control, HASH_ELEM | HASH_BLOBS);
    table_ = table;
    stale_ = false;
  }

  const char *label_;
  HTAB *entries_ = nullptr;
  // The entry used last: most sessions work with one name.
  const Entry *latest_ = nullptr;
  Oid table_ = InvalidOid;
  bool watching_ = false;
  bool stale_ = false;
  bool disturbed_ = false;
};

}  // namespace idem::server
