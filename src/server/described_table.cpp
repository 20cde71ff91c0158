#include "server/described_table.hpp"

namespace idem::server {

namespace {

void on_relation_change(Datum argument, Oid relation) {
  auto &watch = *reinterpret_cast<Watch *>(DatumGetPointer(argument));
  // DROP EXTENSION drops these too, so nothing else of the extension needs watching.
  if (!OidIsValid(relation) || relation == watch.table || relation == watch.key) watch.generation++;
}

}  // namespace

void start_watching(Watch &watch) {
  CacheRegisterRelcacheCallback(on_relation_change, PointerGetDatum(&watch));
}

}  // namespace idem::server
