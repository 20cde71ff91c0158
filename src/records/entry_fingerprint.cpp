// idem_fingerprint: one version byte and the SHA-256 of a canonical JSON text.
//
// Version 1: the compact JSON text of the jsonb value in UTF-8, its object keys in jsonb's own
// order (shorter first, then bytewise) and each once, numbers without trailing zeros, array order
// kept, the excluded members left out. The order is part of the on-disk format of jsonb, so it does
// not change.

#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace {

constexpr unsigned char kVersion = 1;

// One exclusion: a member of the top-level object, or a JSON Pointer (RFC 6901) below it.
struct Path {
  int steps;
  text **names;
};

struct Exclusions {
  int count;
  Path *paths;
};

// How many leading steps of each exclusion the current position matches; -1 once it has left it.
struct Position {
  int depth;
  int *matched;
};

[[noreturn]] void refuse_pointer(const char *pointer) {
  ereport(ERROR, (errcode(idem::server::errcode_of(idem::sqlstate::kBadArgument)),
                  errmsg("exclusion \"%s\" is not a JSON Pointer", pointer),
                  errdetail("In a pointer '~' must be followed by 0 or 1."),
                  errhint("Write '/member/inner' with ~0 for '~' and ~1 for '/', or the plain "
                          "name of a top-level member.")));
  pg_unreachable();
}

text *unescape(const char *from, const char *to, const char *pointer) {
  StringInfoData name;
  initStringInfo(&name);
  for (const char *at = from; at < to; at++) {
    if (*at != '~') {
      appendStringInfoChar(&name, *at);
      continue;
    }
    at++;
    if (at == to || (*at != '0' && *at != '1')) refuse_pointer(pointer);
    appendStringInfoChar(&name, *at == '0' ? '~' : '/');
  }
  return cstring_to_text_with_len(name.data, name.len);
}

Path parse_path(const char *exclusion) {
  const auto length = strlen(exclusion);
  Path path = {0, static_cast<text **>(palloc((length + 1) * sizeof(text *)))};
  if (exclusion[0] != '/') {
    path.names[path.steps++] = cstring_to_text(exclusion);
    return path;
  }
  const char *end = exclusion + length;
  for (const char *at = exclusion; at < end;) {
    const char *from = at + 1;
    const char *to = from;
    while (to < end && *to != '/') to++;
    path.names[path.steps++] = unescape(from, to, exclusion);
    at = to;
  }
  return path;
}

Exclusions parse_exclusions(ArrayType *array) {
  Datum *values;
  bool *nulls;
  Exclusions exclusions;
  deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &exclusions.count);
  exclusions.paths = static_cast<Path *>(palloc((exclusions.count + 1) * sizeof(Path)));
  for (int i = 0; i < exclusions.count; i++) {
    if (nulls[i])
      ereport(ERROR, (errcode(idem::server::errcode_of(idem::sqlstate::kBadArgument)),
                      errmsg("exclusion %d is null", i + 1),
                      errhint("Pass names of members or JSON Pointers.")));
    exclusions.paths[i] = parse_path(TextDatumGetCString(values[i]));
  }
  return exclusions;
}

bool same_name(const text *name, const char *bytes, int length) {
  return static_cast<int>(VARSIZE_ANY_EXHDR(name)) == length &&
         memcmp(VARDATA_ANY(name), bytes, length) == 0;
}

// The position of the member `name` of the container at `outer`; true when an exclusion ends there.
bool descend(const Exclusions &exclusions, const Position &outer, const char *name, int length,
             Position *inner) {
  inner->depth = outer.depth + 1;
  inner->matched = static_cast<int *>(palloc((exclusions.count + 1) * sizeof(int)));
  for (int i = 0; i < exclusions.count; i++) {
    const Path &path = exclusions.paths[i];
    inner->matched[i] = -1;
    if (outer.matched[i] != outer.depth || outer.depth >= path.steps ||
        !same_name(path.names[outer.depth], name, length))
      continue;
    inner->matched[i] = inner->depth;
    if (inner->depth == path.steps) return true;
  }
  return false;
}

void append_string(StringInfo canonical, const JsonbValue &value) {
  escape_json(canonical, pnstrdup(value.val.string.val, value.val.string.len));
}

void append_container(StringInfo canonical, JsonbContainer *container, const Exclusions &exclusions,
                      const Position &position);

void append_value(StringInfo canonical, const JsonbValue &value, const Exclusions &exclusions,
                  const Position &position) {
  switch (value.type) {
    case jbvNull:
      appendStringInfoString(canonical, "null");
      break;
    case jbvBool:
      appendStringInfoString(canonical, value.val.boolean ? "true" : "false");
      break;
    case jbvNumeric:
      appendStringInfoString(canonical, numeric_normalize(value.val.numeric));
      break;
    case jbvString:
      append_string(canonical, value);
      break;
    case jbvBinary:
      append_container(canonical, value.val.binary.data, exclusions, position);
      break;
    default:
      elog(ERROR, "unexpected jsonb value type %d", static_cast<int>(value.type));
  }
}

void append_array(StringInfo canonical, JsonbIterator **iterator, bool scalar,
                  const Exclusions &exclusions, const Position &position) {
  JsonbValue value;
  if (!scalar) appendStringInfoChar(canonical, '[');
  for (int i = 0; JsonbIteratorNext(iterator, &value, true) == WJB_ELEM; i++) {
    char index[16];
    const int length = snprintf(index, sizeof(index), "%d", i);
    Position inner;
    const bool excluded = !scalar && descend(exclusions, position, index, length, &inner);
    if (i > 0) appendStringInfoChar(canonical, ',');
    // Leaving an element out would shift the others; null keeps their places.
    if (excluded)
      appendStringInfoString(canonical, "null");
    else
      append_value(canonical, value, exclusions, scalar ? position : inner);
  }
  if (!scalar) appendStringInfoChar(canonical, ']');
}

void append_object(StringInfo canonical, JsonbIterator **iterator, const Exclusions &exclusions,
                   const Position &position) {
  JsonbValue name;
  JsonbValue value;
  bool first = true;
  appendStringInfoChar(canonical, '{');
  while (JsonbIteratorNext(iterator, &name, true) == WJB_KEY) {
    Position inner;
    const bool excluded =
        descend(exclusions, position, name.val.string.val, name.val.string.len, &inner);
    (void)JsonbIteratorNext(iterator, &value, true);
    if (excluded) continue;
    if (!first) appendStringInfoChar(canonical, ',');
    first = false;
    append_string(canonical, name);
    appendStringInfoChar(canonical, ':');
    append_value(canonical, value, exclusions, inner);
  }
  appendStringInfoChar(canonical, '}');
}

void append_container(StringInfo canonical, JsonbContainer *container, const Exclusions &exclusions,
                      const Position &position) {
  check_stack_depth();
  JsonbIterator *iterator = JsonbIteratorInit(container);
  JsonbValue value;
  if (JsonbIteratorNext(&iterator, &value, true) == WJB_BEGIN_OBJECT)
    append_object(canonical, &iterator, exclusions, position);
  else
    append_array(canonical, &iterator, value.val.array.rawScalar, exclusions, position);
}

// The same payload has the same fingerprint in every database; SQL_ASCII cannot be converted.
const char *in_utf8(const StringInfoData &canonical) {
  if (GetDatabaseEncoding() == PG_SQL_ASCII) return canonical.data;
  return reinterpret_cast<const char *>(
      pg_do_encoding_conversion(reinterpret_cast<unsigned char *>(canonical.data), canonical.len,
                                GetDatabaseEncoding(), PG_UTF8));
}

bytea *digest_of(const StringInfoData &canonical) {
  const bytea *input = cstring_to_text(in_utf8(canonical));
  const bytea *digest = DatumGetByteaPP(DirectFunctionCall1(sha256_bytea, PointerGetDatum(input)));
  const Size size = VARSIZE_ANY_EXHDR(digest);
  auto *fingerprint = static_cast<bytea *>(palloc(VARHDRSZ + 1 + size));
  SET_VARSIZE(fingerprint, VARHDRSZ + 1 + size);
  VARDATA(fingerprint)[0] = kVersion;
  memcpy(VARDATA(fingerprint) + 1, VARDATA_ANY(digest), size);
  return fingerprint;
}

}  // namespace

IDEM_FUNCTION(idem_fingerprint) {
  if (PG_ARGISNULL(0))
    ereport(ERROR, (errcode(idem::server::errcode_of(idem::sqlstate::kBadArgument)),
                    errmsg("payload must not be null"),
                    errhint("Pass the request as jsonb; a request without one is 'null'::jsonb.")));
  Jsonb *payload = PG_GETARG_JSONB_P(0);
  Exclusions exclusions = {0, nullptr};
  if (!PG_ARGISNULL(1)) exclusions = parse_exclusions(PG_GETARG_ARRAYTYPE_P(1));
  Position top = {0, static_cast<int *>(palloc0((exclusions.count + 1) * sizeof(int)))};
  StringInfoData canonical;
  initStringInfo(&canonical);
  append_container(&canonical, &payload->root, exclusions, top);
  return PointerGetDatum(digest_of(canonical));
}
