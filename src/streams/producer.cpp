#include "streams/producer.hpp"

#include "server/prelude.hpp"

namespace idem::streams {

namespace {

constexpr NullableDatum kNull = {0, true};

template <typename Item>
Item *new_array(int count) {
  return static_cast<Item *>(palloc(sizeof(Item) * static_cast<Size>(Max(count, 1))));
}

[[noreturn]] void refuse_window(std::int64_t id) {
  ereport(ERROR,
          (errcode(ERRCODE_DATA_CORRUPTED),
           errmsg("what is remembered of producer %lld does not fit together",
                  static_cast<long long>(id)),
           errhint("Somebody edited idem_producers. Put '{}' into firsts and lasts, and NULL "
                   "into hashes and results: nothing but the last batches is lost.")));
  pg_unreachable();
}

// The numbers of an array without nulls.
const int64 *numbers_of(Datum datum, int *count, std::int64_t id) {
  const ArrayType *array = DatumGetArrayTypeP(datum);
  if (ARR_NDIM(array) > 1 || array_contains_nulls(const_cast<ArrayType *>(array)))
    refuse_window(id);
  *count = ARR_NDIM(array) == 0 ? 0 : ARR_DIMS(array)[0];
  return reinterpret_cast<const int64 *>(ARR_DATA_PTR(array));
}

Recent read_batches(Datum firsts, Datum lasts, std::int64_t id) {
  int count;
  int others;
  const int64 *first = numbers_of(firsts, &count, id);
  const int64 *last = numbers_of(lasts, &others, id);
  if (count != others) refuse_window(id);
  Batch *batches = new_array<Batch>(count);
  for (int i = 0; i < count; i++) batches[i] = {first[i], last[i]};
  return {batches, count};
}

NullableDatum *read_kept(Datum datum, bool isnull, Oid type, int count, std::int64_t id) {
  if (isnull) return nullptr;
  Datum *values;
  bool *nulls;
  int found;
  deconstruct_array(DatumGetArrayTypeP(datum), type, -1, false, TYPALIGN_INT, &values, &nulls,
                    &found);
  if (found != count) refuse_window(id);
  NullableDatum *kept = new_array<NullableDatum>(count);
  for (int i = 0; i < count; i++) kept[i] = {values[i], nulls[i]};
  return kept;
}

Datum array_of(const Datum *values, const bool *nulls, int count, Oid type) {
  int dims[] = {count};
  int lower[] = {1};
  if (count == 0) return PointerGetDatum(construct_empty_array(type));
  const bool number = type == INT8OID;
  return PointerGetDatum(
      construct_md_array(const_cast<Datum *>(values), const_cast<bool *>(nulls), 1, dims, lower,
                         type, number ? static_cast<int>(sizeof(int64)) : -1,
                         number && FLOAT8PASSBYVAL, number ? TYPALIGN_DOUBLE : TYPALIGN_INT));
}

Datum numbers(const Recent &recent, std::int64_t Batch::*which) {
  Datum *values = new_array<Datum>(recent.count);
  for (int i = 0; i < recent.count; i++) values[i] = Int64GetDatum(recent.batches[i].*which);
  return array_of(values, nullptr, recent.count, INT8OID);
}

NullableDatum kept(const NullableDatum *items, int count, Oid type) {
  if (items == nullptr) return kNull;
  Datum *values = new_array<Datum>(count);
  bool *nulls = new_array<bool>(count);
  bool some = false;
  for (int i = 0; i < count; i++) {
    values[i] = items[i].value;
    nulls[i] = items[i].isnull;
    some = some || !nulls[i];
  }
  return some ? NullableDatum{array_of(values, nulls, count, type), false} : kNull;
}

// The last `kept` items and room for `added` nulls; null when there would be nulls only.
NullableDatum *shifted(const NullableDatum *items, int dropped, int kept_items, int added) {
  if (items == nullptr) return nullptr;
  NullableDatum *shifted_items = new_array<NullableDatum>(kept_items + added);
  bool some = false;
  for (int i = 0; i < kept_items; i++) {
    shifted_items[i] = items[i + dropped];
    some = some || !shifted_items[i].isnull;
  }
  for (int i = kept_items; i < kept_items + added; i++) shifted_items[i] = kNull;
  return some ? shifted_items : nullptr;
}

// `items` may be null.
void set_kept(NullableDatum *&items, int count, int place, NullableDatum value) {
  if (items == nullptr) {
    items = new_array<NullableDatum>(count);
    for (int i = 0; i < count; i++) items[i] = kNull;
  }
  items[place] = value;
}

void put(Column column, NullableDatum datum, Datum *values, bool *nulls) {
  values[static_cast<int>(column)] = datum.value;
  nulls[static_cast<int>(column)] = datum.isnull;
}

}  // namespace

Producer read_producer(const Datum *values, const bool *nulls) {
  const auto value = [values](Column column) { return values[static_cast<int>(column)]; };
  const auto null = [nulls](Column column) { return nulls[static_cast<int>(column)]; };
  Producer producer;
  producer.id = DatumGetInt64(value(Column::producer_id));
  producer.state = {DatumGetInt32(value(Column::epoch)), DatumGetInt64(value(Column::last_seq)),
                    DatumGetTimestampTz(value(Column::expires_at))};
  Window &window = producer.window;
  window.recent = read_batches(value(Column::firsts), value(Column::lasts), producer.id);
  const int count = window.recent.count;
  window.hashes =
      read_kept(value(Column::hashes), null(Column::hashes), BYTEAOID, count, producer.id);
  window.results =
      read_kept(value(Column::results), null(Column::results), JSONBOID, count, producer.id);
  return producer;
}

void write_producer(const Producer &producer, Datum *values, bool *nulls) {
  const Recent &recent = producer.window.recent;
  put(Column::expires_at, {TimestampTzGetDatum(producer.state.expires_at), false}, values, nulls);
  put(Column::last_seq, {Int64GetDatum(producer.state.last_seq), false}, values, nulls);
  put(Column::firsts, {numbers(recent, &Batch::first), false}, values, nulls);
  put(Column::lasts, {numbers(recent, &Batch::last), false}, values, nulls);
  put(Column::hashes, kept(producer.window.hashes, recent.count, BYTEAOID), values, nulls);
  put(Column::results, kept(producer.window.results, recent.count, JSONBOID), values, nulls);
}

void append_plain(Producer &producer, const Batch *batches, int count, const Policy &policy) {
  if (count <= 0) return;
  Window &window = producer.window;
  producer.state.last_seq = batches[count - 1].last;
  const int added = Min(count, policy.remember);
  if (added <= 0) {
    window = {{nullptr, 0}, nullptr, nullptr};
    return;
  }
  const Recent &before = window.recent;
  const int kept_batches = Min(before.count, policy.remember - added);
  const int dropped = before.count - kept_batches;
  Batch *all = new_array<Batch>(kept_batches + added);
  for (int i = 0; i < kept_batches; i++) all[i] = before.batches[i + dropped];
  for (int i = 0; i < added; i++) all[kept_batches + i] = batches[count - added + i];
  window = {{all, kept_batches + added},
            shifted(window.hashes, dropped, kept_batches, added),
            shifted(window.results, dropped, kept_batches, added)};
}

void append(Producer &producer, const Batch &batch, NullableDatum hash, NullableDatum result,
            const Policy &policy) {
  append_plain(producer, &batch, 1, policy);
  Window &window = producer.window;
  const int last = window.recent.count - 1;
  if (last >= 0 && !hash.isnull) set_kept(window.hashes, window.recent.count, last, hash);
  if (last >= 0 && !result.isnull) set_kept(window.results, window.recent.count, last, result);
}

NullableDatum hash_at(const Window &window, int place) {
  return window.hashes == nullptr ? kNull : window.hashes[place];
}

NullableDatum result_at(const Window &window, int place) {
  return window.results == nullptr ? kNull : window.results[place];
}

void set_result(Window &window, int place, NullableDatum result) {
  set_kept(window.results, window.recent.count, place, result);
}

}  // namespace idem::streams
