#include "server/json_value.hpp"

#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace idem::server {

namespace {

Jsonb *as_jsonb(const JsonbValue &value) {
  JsonbValue copy = value;
  return JsonbValueToJsonb(&copy);
}

char *as_json_text(const JsonbValue &value) {
  Jsonb *json = as_jsonb(value);
  return JsonbToCString(nullptr, &json->root, static_cast<int>(VARSIZE(json)));
}

char *as_text(const JsonbValue &value) {
  if (value.type == jbvString) return pnstrdup(value.val.string.val, value.val.string.len);
  return as_json_text(value);
}

bool is_json_array(const JsonbValue &value) {
  return value.type == jbvBinary && JsonContainerIsArray(value.val.binary.data) &&
         !JsonContainerIsScalar(value.val.binary.data);
}

[[noreturn]] void refuse_nested(Oid type) {
  ereport(ERROR, (errcode(server::errcode_of(sqlstate::kBadArgument)),
                  errmsg("nested JSON array for a parameter of type %s", format_type_be(type)),
                  errhint("Pass an array of several dimensions as a string such as "
                          "'{{1,2},{3,4}}'.")));
  pg_unreachable();
}

Datum array_value(JsonbContainer *container, Oid type, Oid element_type) {
  const int count = static_cast<int>(JsonContainerSize(container));
  auto *values = static_cast<Datum *>(palloc((count + 1) * sizeof(Datum)));
  auto *nulls = static_cast<bool *>(palloc((count + 1) * sizeof(bool)));
  for (int i = 0; i < count; i++) {
    const JsonbValue &element = *getIthJsonbValueFromContainer(container, i);
    if (is_json_array(element)) refuse_nested(type);
    const NullableDatum item = nullable_sql_value(element, element_type);
    nulls[i] = item.isnull;
    values[i] = item.value;
  }
  int16 length;
  bool by_value;
  char alignment;
  get_typlenbyvalalign(element_type, &length, &by_value, &alignment);
  int dimensions[] = {count};
  int lower_bounds[] = {1};
  return PointerGetDatum(construct_md_array(values, nulls, count > 0 ? 1 : 0, dimensions,
                                            lower_bounds, element_type, length, by_value,
                                            alignment));
}

}  // namespace

JsonbValue string_value(const char *text) {
  JsonbValue value;
  value.type = text == nullptr ? jbvNull : jbvString;
  value.val.string.val = const_cast<char *>(text);
  value.val.string.len = text == nullptr ? 0 : static_cast<int>(strlen(text));
  return value;
}

Datum value_from_text(const char *text, Oid type) {
  Oid input;
  Oid parameter;
  getTypeInputInfo(type, &input, &parameter);
  return OidInputFunctionCall(input, const_cast<char *>(text), parameter, -1);
}

char *text_from_value(Datum value, Oid type) {
  Oid output;
  bool varlena;
  getTypeOutputInfo(type, &output, &varlena);
  return OidOutputFunctionCall(output, value);
}

Datum sql_value(const JsonbValue &value, Oid type) {
  const Oid base = getBaseType(type);
  if (base == JSONBOID && base == type) return JsonbPGetDatum(as_jsonb(value));
  if (base == JSONBOID || base == JSONOID) return value_from_text(as_json_text(value), type);
  const Oid element_type = get_element_type(base);
  if (!OidIsValid(element_type) || !is_json_array(value))
    return value_from_text(as_text(value), type);
  const Datum array = array_value(value.val.binary.data, base, element_type);
  // A domain checks its values in its input function.
  return base == type ? array : value_from_text(OidOutputFunctionCall(F_ARRAY_OUT, array), type);
}

NullableDatum nullable_sql_value(const JsonbValue &value, Oid type) {
  if (value.type != jbvNull) return {sql_value(value, type), false};
  // What has the type of a domain is not checked again by the statement that stores it.
  if (get_typtype(type) == TYPTYPE_DOMAIN) domain_check(Datum{0}, true, type, nullptr, nullptr);
  return {Datum{0}, true};
}

}  // namespace idem::server
