// What once stores of a run, and what it makes of it when the run is asked for again.

#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tool/capture.hpp"

namespace idem::tool {

struct RunResult {
  int status = 0;
  double seconds = 0;
  std::string host;
  std::optional<Capture> out;
  std::optional<Capture> err;
};

// A JSON object. A stream becomes a text if it is one that a database in UTF-8 can hold in jsonb,
// or, for other databases (`ascii_only`), in ASCII; else it is kept as base64. `limit` is the most
// bytes to keep of each stream.
std::string to_stored(const RunResult &result, std::size_t limit, bool ascii_only);

struct StoredRun {
  int status = 0;
  std::string out;
  std::string err;
  bool truncated = false;
  // Whether it was pgidem that stored it.
  bool ours = false;
};

// Takes whatever JSON is there: others may have stored it, or an operator. `failed` and `code` are
// those of the record.
StoredRun from_stored(const std::optional<std::string> &json, bool failed,
                      const std::optional<std::string> &code);

std::string to_base64(const std::string &bytes);
// Nothing for what is not base64.
std::optional<std::string> from_base64(const std::string &text);

// Whether the bytes are UTF-8 without NUL, which PostgreSQL's text cannot hold.
bool is_storable_text(const std::string &bytes, bool ascii_only);

}  // namespace idem::tool
