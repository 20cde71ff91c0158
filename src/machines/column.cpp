#include "machines/column.hpp"

#include <charconv>

#include "server/arguments.hpp"
#include "server/json_value.hpp"
#include "server/prelude.hpp"

namespace idem::machines {

namespace {

bool is_citext(Oid type) {
  const Oid extension = get_extension_oid("citext", true);
  return OidIsValid(extension) && !OidIsValid(get_element_type(type)) &&
         getExtensionOfObject(TypeRelationId, type) == extension;
}

std::int64_t number_of(const ColumnType &column, Datum value) {
  if (column.type == INT2OID) return DatumGetInt16(value);
  if (column.type == INT4OID) return DatumGetInt32(value);
  return DatumGetInt64(value);
}

NullableDatum number_value(const ColumnType &column, const CompiledState &state) {
  constexpr NullableDatum kNone = {Datum{0}, true};
  std::int64_t number;
  const char *end = state.name + state.length;
  const auto [rest, problem] = std::from_chars(state.name, end, number);
  if (problem != std::errc() || rest != end) return kNone;
  // Other spellings of the number, such as 01, would be a second state of the same value.
  if (strcmp(psprintf(INT64_FORMAT, number), state.name) != 0) return kNone;
  if (column.type == INT8OID) return {Int64GetDatum(number), false};
  if (column.type == INT4OID && number >= PG_INT32_MIN && number <= PG_INT32_MAX)
    return {Int32GetDatum(static_cast<int32>(number)), false};
  if (column.type == INT2OID && number >= PG_INT16_MIN && number <= PG_INT16_MAX)
    return {Int16GetDatum(static_cast<int16>(number)), false};
  return kNone;
}

NullableDatum enum_value(const ColumnType &column, const CompiledState &state) {
  if (state.length >= NAMEDATALEN) return {Datum{0}, true};
  const Oid label = GetSysCacheOid2(ENUMTYPOIDNAME, Anum_pg_enum_oid, ObjectIdGetDatum(column.type),
                                    CStringGetDatum(state.name));
  return {ObjectIdGetDatum(label), !OidIsValid(label)};
}

NullableDatum value_of(const ColumnType &column, const CompiledState &state) {
  switch (column.representation) {
    case Representation::number:
      return number_value(column, state);
    case Representation::enumeration:
      return enum_value(column, state);
    case Representation::bytes:
    case Representation::compared:
      break;
  }
  return {PointerGetDatum(cstring_to_text_with_len(state.name, static_cast<int>(state.length))),
          false};
}

StateIndex find_number(const ColumnType &column, const StateMap &map, std::int64_t number) {
  for (StateIndex i = 0; i < map.edition->machine->states; i++)
    if (!map.values[i].isnull && number_of(column, map.values[i].value) == number) return i;
  return kUnknown;
}

// A label may have been added since the map was made.
StateIndex find_label(const ColumnType &column, const StateMap &map, Datum value) {
  for (StateIndex i = 0; i < map.edition->machine->states; i++)
    if (!map.values[i].isnull && map.values[i].value == value) return i;
  return find_state(*map.edition->machine, text_of_value(column, value));
}

StateIndex find_equal(const ColumnType &column, const StateMap &map, Datum value) {
  auto *equal = const_cast<FmgrInfo *>(&column.equal);
  for (StateIndex i = 0; i < map.edition->machine->states; i++)
    if (DatumGetBool(FunctionCall2Coll(equal, column.collation, value, map.values[i].value)))
      return i;
  return kUnknown;
}

}  // namespace

bool describe_column(Oid type, Oid collation, ColumnType *described) {
  described->type = getBaseType(type);
  described->collation = collation;
  switch (described->type) {
    case TEXTOID:
    case VARCHAROID:
      described->representation = get_collation_isdeterministic(collation)
                                      ? Representation::bytes
                                      : Representation::compared;
      if (described->representation == Representation::compared)
        fmgr_info(F_TEXTEQ, &described->equal);
      return true;
    case INT2OID:
    case INT4OID:
    case INT8OID:
      described->representation = Representation::number;
      return true;
    default:
      break;
  }
  if (type_is_enum(described->type)) {
    described->representation = Representation::enumeration;
    return true;
  }
  if (!is_citext(described->type)) return false;
  const TypeCacheEntry *entry = lookup_type_cache(described->type, TYPECACHE_EQ_OPR_FINFO);
  if (!OidIsValid(entry->eq_opr)) return false;
  described->representation = Representation::compared;
  fmgr_info(entry->eq_opr_finfo.fn_oid, &described->equal);
  return true;
}

StateMap *map_states(const ColumnType &column, const Edition *edition) {
  auto *map = static_cast<StateMap *>(palloc(sizeof(StateMap)));
  map->edition = edition;
  map->values =
      static_cast<NullableDatum *>(palloc(edition->machine->states * sizeof(NullableDatum)));
  for (StateIndex i = 0; i < edition->machine->states; i++)
    map->values[i] = value_of(column, edition->machine->state[i]);
  return map;
}

StateIndex state_of(const ColumnType &column, const StateMap &map, Datum value) {
  switch (column.representation) {
    case Representation::number:
      return find_number(column, map, number_of(column, value));
    case Representation::enumeration:
      return find_label(column, map, value);
    case Representation::compared:
      return find_equal(column, map, value);
    case Representation::bytes:
      break;
  }
  return find_state(*map.edition->machine, server::view_of(DatumGetTextPP(value)));
}

StateIndex unusable_state(const ColumnType &column, const StateMap &map) {
  for (StateIndex i = 0; i < map.edition->machine->states; i++)
    if (map.values[i].isnull || state_of(column, map, map.values[i].value) != i) return i;
  return kUnknown;
}

char *text_of_value(const ColumnType &column, Datum value) {
  return server::text_from_value(value, column.type);
}

}  // namespace idem::machines
