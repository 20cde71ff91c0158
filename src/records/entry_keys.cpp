#include <vector>

#include "records/key.hpp"
#include "server/arguments.hpp"
#include "server/guard.hpp"
#include "server/prelude.hpp"

namespace {

text *to_text(const std::string &value) {
  // The string is alive, so an out-of-memory error of palloc must come back as an exception.
  return idem::server::inward(
      [&value] { return cstring_to_text_with_len(value.data(), static_cast<int>(value.size())); });
}

struct Parts {
  Datum *values;
  bool *nulls;
  int count;
};

Parts read_parts(ArrayType *array) {
  Parts parts;
  if (ARR_NDIM(array) > 1)
    ereport(ERROR, (errcode(idem::server::errcode_of(idem::sqlstate::kBadArgument)),
                    errmsg("key parts must be an array of one dimension, not %d", ARR_NDIM(array)),
                    errhint("Pass the parts one by one.")));
  deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &parts.values, &parts.nulls,
                    &parts.count);
  for (int i = 0; i < parts.count; i++) {
    if (parts.nulls[i])
      ereport(ERROR, (errcode(idem::server::errcode_of(idem::sqlstate::kBadArgument)),
                      errmsg("part %d of the key is null", i + 1),
                      errdetail("A missing part would give different requests the same key."),
                      errhint("Pass a value, or leave the part out for every request.")));
    parts.values[i] = PointerGetDatum(DatumGetTextPP(parts.values[i]));
  }
  return parts;
}

// Pure C++ from here on; only the guarded call touches the server.
text *join(const Parts &parts) {
  std::vector<std::string_view> views;
  views.reserve(parts.count);
  for (int i = 0; i < parts.count; i++)
    views.push_back(idem::server::view_of(reinterpret_cast<text *>(parts.values[i])));
  return to_text(idem::records::make_key(views));
}

text *join_child(const text *parent, const text *step) {
  return to_text(
      idem::records::make_child_key(idem::server::view_of(parent), idem::server::view_of(step)));
}

[[noreturn]] void refuse_null(const char *what, const char *pass) {
  ereport(ERROR, (errcode(idem::server::errcode_of(idem::sqlstate::kBadArgument)),
                  errmsg("%s must not be null", what), errhint("Pass %s.", pass)));
  pg_unreachable();
}

}  // namespace

IDEM_FUNCTION(idem_key) {
  if (PG_ARGISNULL(0)) refuse_null("key parts", "'service', 'business id', 'operation'");
  return PointerGetDatum(join(read_parts(PG_GETARG_ARRAYTYPE_P(0))));
}

IDEM_FUNCTION(idem_child_key) {
  if (PG_ARGISNULL(0)) refuse_null("parent key", "the key of the request");
  if (PG_ARGISNULL(1)) refuse_null("step", "a name for the step, such as 'charge'");
  return PointerGetDatum(join_child(PG_GETARG_TEXT_PP(0), PG_GETARG_TEXT_PP(1)));
}
