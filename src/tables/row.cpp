#include "tables/row.hpp"

#include "server/compat.hpp"
#include "server/guard.hpp"
#include "server/json_value.hpp"
#include "server/names.hpp"
#include "server/prelude.hpp"
#include "tables/plans.hpp"

namespace idem::tables {

namespace {

bool identifies_rows(Relation index) {
  const Form_pg_index form = index->rd_index;
  return form->indisunique && form->indisvalid && form->indimmediate &&
         RelationGetIndexPredicate(index) == NIL && RelationGetIndexExpressions(index) == NIL;
}

// All columns, or those without the one to leave out if any is left then.
RowKey columns_of(Relation index, AttrNumber left_out) {
  RowKey key = {};
  const int columns = index->rd_index->indnkeyatts;
  for (int i = 0; i < columns; i++)
    if (columns == 1 || index->rd_index->indkey.values[i] != left_out)
      key.column[key.columns++] = index->rd_index->indkey.values[i];
  return key;
}

// Where in the index a column is.
int position_in(Relation index, AttrNumber column) {
  int position = 0;
  while (index->rd_index->indkey.values[position] != column) position++;
  return position;
}

JsonbValue numeric_value(Datum numeric) {
  JsonbValue value;
  value.type = jbvNumeric;
  value.val.numeric = DatumGetNumeric(numeric);
  return value;
}

void set(const char *name, const char *value) {
  (void)set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

// A value has one text, whatever the session's settings.
char *stable_output_of(Datum value, Oid type) {
  const int level = NewGUCNestLevel();
  set("DateStyle", "ISO");
  set("IntervalStyle", "postgres");
  set("TimeZone", "UTC");
  set("bytea_output", "hex");
  set("extra_float_digits", "3");
  char *text = server::text_from_value(value, type);
  AtEOXact_GUC(false, level);
  return text;
}

// Types of keys whose text depends on no setting, and which are common enough to be fast.
bool has_stable_output(Oid type) {
  return type == TEXTOID || type == VARCHAROID || type == BPCHAROID || type == UUIDOID ||
         type == NAMEOID || type_is_enum(type);
}

bool is_integer_type(Oid type) {
  return type == INT2OID || type == INT4OID || type == INT8OID || type == OIDOID;
}

bool is_integer(Oid type, Datum value, std::int64_t *number) {
  if (type == INT8OID)
    *number = DatumGetInt64(value);
  else if (type == INT4OID)
    *number = DatumGetInt32(value);
  else if (type == INT2OID)
    *number = DatumGetInt16(value);
  else
    return false;
  return true;
}

JsonbValue embedded(Jsonb *json) {
  JsonbValue value;
  if (JB_ROOT_IS_SCALAR(json) && JsonbExtractScalar(&json->root, &value)) return value;
  value.type = jbvBinary;
  value.val.binary.data = &json->root;
  value.val.binary.len = static_cast<int>(VARSIZE(json)) - VARHDRSZ;
  return value;
}

JsonbValue json_of(Datum value, Oid type) {
  constexpr int kUtc = 0;
  JsonbValue json;
  switch (type) {
    case INT2OID:
      return numeric_value(DirectFunctionCall1(int2_numeric, value));
    case INT4OID:
      return numeric_value(DirectFunctionCall1(int4_numeric, value));
    case INT8OID:
      return numeric_value(DirectFunctionCall1(int8_numeric, value));
    case NUMERICOID:
      // Others are no JSON numbers.
      if (!server::is_finite(DatumGetNumeric(value))) break;
      return numeric_value(value);
    case JSONBOID:
      return embedded(DatumGetJsonbP(value));
    case BOOLOID:
      json.type = jbvBool;
      json.val.boolean = DatumGetBool(value);
      return json;
    case DATEOID:
    case TIMESTAMPOID:
    case TIMESTAMPTZOID:
      return server::string_value(
          JsonEncodeDateTime(static_cast<char *>(palloc(MAXDATELEN + 1)), value, type, &kUtc));
    default:
      break;
  }
  return server::string_value(has_stable_output(type) ? server::text_from_value(value, type)
                                                      : stable_output_of(value, type));
}

JsonbValue json_of_column(const RowKey &key, Relation relation, const NullableDatum *values,
                          int number) {
  const Form_pg_attribute column =
      TupleDescAttr(RelationGetDescr(relation), key.column[number] - 1);
  JsonbValue json;
  json.type = jbvNull;
  if (!values[number].isnull) json = json_of(values[number].value, getBaseType(column->atttypid));
  return json;
}

Jsonb *object_of_key(const RowKey &key, Relation relation, const NullableDatum *values) {
  JsonbParseState *state = nullptr;
  (void)pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
  for (int i = 0; i < key.columns; i++) {
    const Form_pg_attribute column = TupleDescAttr(RelationGetDescr(relation), key.column[i] - 1);
    JsonbValue name = server::string_value(NameStr(column->attname));
    JsonbValue json = json_of_column(key, relation, values, i);
    (void)pushJsonbValue(&state, WJB_KEY, &name);
    (void)pushJsonbValue(&state, WJB_VALUE, &json);
  }
  return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
}

Jsonb *array_of_key(const RowKey &key, Relation relation, const NullableDatum *values) {
  JsonbParseState *state = nullptr;
  (void)pushJsonbValue(&state, WJB_BEGIN_ARRAY, nullptr);
  for (int i = 0; i < key.columns; i++) {
    JsonbValue json = json_of_column(key, relation, values, i);
    (void)pushJsonbValue(&state, WJB_ELEM, &json);
  }
  return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_ARRAY, nullptr));
}

void read_values(const RowKey &key, TupleTableSlot *slot, NullableDatum *values) {
  for (int i = 0; i < key.columns; i++)
    values[i].value = slot_getattr(slot, key.column[i], &values[i].isnull);
}

[[noreturn]] void refuse_key(Relation relation, AttrNumber left_out, Jsonb *key,
                             const char *problem) {
  const RowKey primary = key_of_rows(relation, left_out);
  StringInfoData example;
  initStringInfo(&example);
  for (int i = 0; i < primary.columns; i++)
    appendStringInfo(&example, "%s\"%s\": ...", i == 0 ? "" : ", ",
                     get_attname(RelationGetRelid(relation), primary.column[i], false));
  ereport(
      ERROR,
      (errcode(server::errcode_of(sqlstate::kBadArgument)), errmsg("%s", problem),
       errdetail("The key is %s.",
                 JsonbToCString(nullptr, &key->root, static_cast<int>(VARSIZE(key)))),
       primary.columns > 0
           ? errhint("Pass the primary key or another unique key of table \"%s\", such as {%s}.",
                     RelationGetRelationName(relation), example.data)
           : errhint("Table \"%s\" needs a primary key or another unique key.",
                     RelationGetRelationName(relation))));
  pg_unreachable();
}

const char *qualified_collation(Oid collation) {
  HeapTuple tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
  if (!HeapTupleIsValid(tuple)) elog(ERROR, "cache lookup failed for collation %u", collation);
  const auto *form = reinterpret_cast<Form_pg_collation>(GETSTRUCT(tuple));
  const char *name =
      quote_qualified_identifier(get_namespace_name(form->collnamespace), NameStr(form->collname));
  ReleaseSysCache(tuple);
  return name;
}

// Under another collation other values may be equal.
bool has_own_collation(Relation relation, AttrNumber column, Relation index, int position) {
  const Oid collation = index->rd_indcollation[position];
  return OidIsValid(collation) &&
         collation != TupleDescAttr(RelationGetDescr(relation), column - 1)->attcollation;
}

// The equality by which the index tells rows apart, so that a column of any type will do.
void append_equality(StringInfo sql, Relation index, int position, const char *operand,
                     int parameter) {
  const Oid type = index->rd_opcintype[position];
  const Oid equality =
      get_opfamily_member(index->rd_opfamily[position], type, type, BTEqualStrategyNumber);
  HeapTuple tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(equality));
  if (!HeapTupleIsValid(tuple)) elog(ERROR, "cache lookup failed for operator %u", equality);
  const auto *form = reinterpret_cast<Form_pg_operator>(GETSTRUCT(tuple));
  appendStringInfo(sql, "%s%s OPERATOR(%s.%s) $%d", parameter > 1 ? " AND " : "", operand,
                   quote_identifier(get_namespace_name(form->oprnamespace)), NameStr(form->oprname),
                   parameter);
  ReleaseSysCache(tuple);
}

bool is_object(Jsonb *key) {
  return JB_ROOT_IS_OBJECT(key);
}

JsonbValue *member(Jsonb *key, const char *name) {
  JsonbValue wanted = server::string_value(name);
  return findJsonbValueFromContainer(&key->root, JB_FOBJECT, &wanted);
}

bool has_columns(Jsonb *key, Relation relation, const RowKey &columns) {
  if (!is_object(key)) return columns.columns == 1 && JB_ROOT_IS_SCALAR(key);
  if (static_cast<int>(JB_ROOT_COUNT(key)) != columns.columns) return false;
  for (int i = 0; i < columns.columns; i++)
    if (member(key, get_attname(RelationGetRelid(relation), columns.column[i], false)) == nullptr)
      return false;
  return true;
}

// The columns of the index that the key has, which are all but for the one that may be left out;
// none if it does not fit.
RowKey fitting_columns(Jsonb *key, Relation relation, Relation index, AttrNumber left_out) {
  if (!identifies_rows(index) || index->rd_rel->relam != BTREE_AM_OID) return {};
  if (!is_object(key) && !index->rd_index->indisprimary) return {};
  for (const AttrNumber missing : {AttrNumber{InvalidAttrNumber}, left_out}) {
    const RowKey columns = columns_of(index, missing);
    if (has_columns(key, relation, columns)) return columns;
  }
  return {};
}

void add_column(KeyCondition *condition, Relation relation, Relation index, AttrNumber column,
                const JsonbValue &value) {
  const int position = position_in(index, column);
  const Oid type = getBaseType(get_atttype(RelationGetRelid(relation), column));
  const int number = condition->parameters++;
  const char *operand =
      psprintf("t.%s", quote_identifier(get_attname(RelationGetRelid(relation), column, false)));
  if (has_own_collation(relation, column, index, position)) {
    operand =
        psprintf("%s COLLATE %s", operand, qualified_collation(index->rd_indcollation[position]));
    condition->other_collation = true;
  }
  condition->columns[number] = column;
  condition->types[number] = type;
  condition->values[number] = value_for_column(value, type).value;
  append_equality(&condition->sql, index, position, operand, number + 1);
}

void add_condition(KeyCondition *condition, Relation relation, Relation index,
                   const RowKey &columns, AttrNumber left_out, Jsonb *key) {
  for (int i = 0; i < columns.columns; i++) {
    const char *name = get_attname(RelationGetRelid(relation), columns.column[i], false);
    JsonbValue scalar;
    if (!is_object(key)) (void)JsonbExtractScalar(&key->root, &scalar);
    const JsonbValue &value = is_object(key) ? *member(key, name) : scalar;
    if (value.type == jbvNull)
      refuse_key(relation, left_out, key, "a key must not have null in it");
    add_column(condition, relation, index, columns.column[i], value);
  }
}

// Whether equal values of the column are written alike, unlike 1.0 and 1.
bool has_one_spelling(Relation relation, AttrNumber number) {
  const Form_pg_attribute column = TupleDescAttr(RelationGetDescr(relation), number - 1);
  const Oid type = getBaseType(column->atttypid);
  switch (type) {
    case INT2OID:
    case INT4OID:
    case INT8OID:
    case BOOLOID:
    case UUIDOID:
    case DATEOID:
    case TIMESTAMPOID:
    case TIMESTAMPTZOID:
      return true;
    case TEXTOID:
    case VARCHAROID:
      return get_collation_isdeterministic(column->attcollation);
    default:
      return type_is_enum(type);
  }
}

bool may_see_rows(Relation relation) {
  const Oid table = RelationGetRelid(relation);
  return pg_class_aclcheck(table, GetUserId(), ACL_SELECT) == ACLCHECK_OK &&
         check_enable_rls(table, InvalidOid, true) != RLS_ENABLED;
}

}  // namespace

NullableDatum value_for_column(const JsonbValue &value, Oid type) {
  JsonbValue trimmed = value;
  if (value.type == jbvNumeric && is_integer_type(getBaseType(type)))
    trimmed.val.numeric = DatumGetNumeric(
        DirectFunctionCall1(numeric_trim_scale, NumericGetDatum(value.val.numeric)));
  return server::nullable_sql_value(trimmed, type);
}

RowKey key_of_rows(Relation relation, AttrNumber left_out) {
  RowKey key = {};
  // Also has the relation learn which index is the primary key.
  list_free(RelationGetIndexList(relation));
  const Oid identity =
      OidIsValid(relation->rd_pkindex) ? relation->rd_pkindex : RelationGetReplicaIndex(relation);
  if (!OidIsValid(identity)) return key;
  Relation index = index_open(identity, AccessShareLock);
  key = columns_of(index, left_out);
  index_close(index, AccessShareLock);
  return key;
}

Jsonb *values_of_key(const RowKey &key, Relation relation, TupleTableSlot *slot) {
  NullableDatum values[INDEX_MAX_KEYS];
  read_values(key, slot, values);
  return array_of_key(key, relation, values);
}

KeyOfRow key_of_row(const RowKey &key, Relation relation, TupleTableSlot *slot) {
  KeyOfRow result = {};
  NullableDatum values[INDEX_MAX_KEYS];
  read_values(key, slot, values);
  result.json = object_of_key(key, relation, values);
  const Oid type =
      getBaseType(TupleDescAttr(RelationGetDescr(relation), key.column[0] - 1)->atttypid);
  const bool numbered =
      key.columns == 1 && !values[0].isnull && is_integer(type, values[0].value, &result.hash);
  if (!numbered)
    result.hash = DatumGetInt64(
        DirectFunctionCall2(jsonb_hash_extended,
                            JsonbPGetDatum(array_of_key(key, relation, values)), Int64GetDatum(0)));
  return result;
}

const Jsonb *key_of_condition(const RowKey &key, Relation relation, const KeyCondition &condition) {
  NullableDatum values[INDEX_MAX_KEYS];
  if (condition.other_collation || condition.parameters < key.columns) return nullptr;
  for (int i = 0; i < key.columns; i++) {
    int parameter = 0;
    while (parameter < condition.parameters && condition.columns[parameter] != key.column[i])
      parameter++;
    if (parameter == condition.parameters) return nullptr;
    if (!has_one_spelling(relation, key.column[i])) return nullptr;
    values[i] = {condition.values[parameter], false};
  }
  return array_of_key(key, relation, values);
}

KeyCondition read_key(Relation relation, AttrNumber left_out, Jsonb *key) {
  KeyCondition condition = {};
  initStringInfo(&condition.sql);
  ListCell *cell;
  foreach (cell, RelationGetIndexList(relation)) {
    Relation index = index_open(lfirst_oid(cell), AccessShareLock);
    if (condition.parameters == 0)
      add_condition(&condition, relation, index, fitting_columns(key, relation, index, left_out),
                    left_out, key);
    index_close(index, AccessShareLock);
  }
  if (condition.parameters == 0)
    refuse_key(relation, left_out, key,
               psprintf("the key does not name the columns of a unique key of table \"%s\"",
                        RelationGetRelationName(relation)));
  return condition;
}

void refuse_ambiguous(Relation relation) {
  ereport(ERROR,
          (errcode(ERRCODE_CARDINALITY_VIOLATION),
           errmsg("several rows of table \"%s\" have this key", RelationGetRelationName(relation)),
           errhint("Keys are unique in each child of a table, not across them: name the "
                   "child.")));
  pg_unreachable();
}

FoundRow find_row(Relation relation, const KeyCondition &key, bool lock) {
  FoundRow found = {};
  const char *name = server::qualified_name(RelationGetRelid(relation));
  const char *sql = psprintf("SELECT (t.*)::%s, t.tableoid, t.ctid FROM %s AS t WHERE %s%s", name,
                             name, key.sql.data, lock ? " FOR NO KEY UPDATE" : "");
  const Plan plan = plan_for(sql, key.parameters, key.types);
  const int code = execute_plan(plan, const_cast<Datum *>(key.values), nullptr, !lock, 2);
  if (code != SPI_OK_SELECT) elog(ERROR, "\"%s\" failed: %s", sql, SPI_result_code_string(code));
  if (SPI_processed > 1) refuse_ambiguous(relation);
  if (SPI_processed == 0) return found;
  bool isnull;
  const HeapTuple row = SPI_tuptable->vals[0];
  found.row = DatumGetHeapTupleHeader(SPI_getbinval(row, SPI_tuptable->tupdesc, 1, &isnull));
  found.table = DatumGetObjectId(SPI_getbinval(row, SPI_tuptable->tupdesc, 2, &isnull));
  found.address = *reinterpret_cast<ItemPointer>(
      DatumGetPointer(SPI_getbinval(row, SPI_tuptable->tupdesc, 3, &isnull)));
  return found;
}

const char *row_for_message(Relation relation, AttrNumber left_out, TupleTableSlot *slot) {
  const RowKey key = key_of_rows(relation, left_out);
  if (key.columns == 0 || !may_see_rows(relation)) return "";
  Jsonb *json = key_of_row(key, relation, slot).json;
  return psprintf(" Row: %s.",
                  JsonbToCString(nullptr, &json->root, static_cast<int>(VARSIZE(json))));
}

}  // namespace idem::tables
