#include "tool/stored_result.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace idem::tool {

namespace {

using Json = nlohmann::ordered_json;

constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// The least code point that needs that many bytes, by which overlong forms are known.
constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};

// The length of the character of UTF-8 at a place; 0 if there is none.
std::size_t utf8_length(const std::string &bytes, std::size_t place) {
  const auto first = static_cast<unsigned char>(bytes[place]);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF8 ? 0 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || length == 0 || place + length > bytes.size()) return 0;
  std::uint32_t code = first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; i++) {
    const auto next = static_cast<unsigned char>(bytes[place + i]);
    if ((next & 0xC0) != 0x80) return 0;
    code = code << 6 | (next & 0x3FU);
  }
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < kLeast[length] || surrogate || code > 0x10FFFF ? 0 : length;
}

// Adds a stream under its name; whether it was cut.
bool add_stream(Json &object, const std::string &name, const std::optional<Capture> &stream,
                std::size_t limit, bool ascii_only) {
  if (!stream) return false;
  const Capture kept = stream->cut(limit);
  if (is_storable_text(kept.bytes(), ascii_only))
    object[name] = kept.bytes();
  else
    object[name + "_base64"] = to_base64(kept.bytes());
  return kept.truncated();
}

std::string stream_of(const Json &object, const std::string &name) {
  const auto text = object.find(name);
  if (text != object.end() && text->is_string()) return text->get<std::string>();
  const auto encoded = object.find(name + "_base64");
  if (encoded == object.end() || !encoded->is_string()) return "";
  return from_base64(encoded->get<std::string>()).value_or("");
}

std::optional<int> status_in(const Json &object) {
  const auto status = object.find("exit");
  if (status == object.end() || !status->is_number_integer()) return std::nullopt;
  const auto number = status->get<std::int64_t>();
  if (number < 0 || number > 255) return std::nullopt;
  return static_cast<int>(number);
}

// A code of the record that is no exit status, such as an operator's 404, must not become one that
// says the opposite of what is stored.
int status_from_code(bool failed, const std::optional<std::string> &code) {
  if (!failed) return 0;
  if (!code || code->empty() || code->size() > 3) return 1;
  if (code->find_first_not_of("0123456789") != std::string::npos) return 1;
  const int status = std::stoi(*code);
  return status >= 1 && status <= 255 ? status : 1;
}

}  // namespace

bool is_storable_text(const std::string &bytes, bool ascii_only) {
  for (std::size_t place = 0; place < bytes.size();) {
    const std::size_t length = utf8_length(bytes, place);
    if (length == 0 || bytes[place] == '\0' || (ascii_only && length > 1)) return false;
    place += length;
  }
  return true;
}

std::string to_stored(const RunResult &result, std::size_t limit, bool ascii_only) {
  Json object = {{"exit", result.status}, {"seconds", result.seconds}};
  if (is_storable_text(result.host, ascii_only)) object["host"] = result.host;
  const bool out_cut = add_stream(object, "stdout", result.out, limit, ascii_only);
  const bool err_cut = add_stream(object, "stderr", result.err, limit, ascii_only);
  if (result.out || result.err) object["truncated"] = out_cut || err_cut;
  return object.dump();
}

StoredRun from_stored(const std::optional<std::string> &json, bool failed,
                      const std::optional<std::string> &code) {
  StoredRun run;
  run.status = status_from_code(failed, code);
  const Json object = Json::parse(json.value_or("null"), nullptr, false);
  if (!object.is_object()) return run;
  const auto status = status_in(object);
  if (!status || (*status == 0) == failed) return run;
  run.ours = true;
  run.status = *status;
  run.out = stream_of(object, "stdout");
  run.err = stream_of(object, "stderr");
  run.truncated = object.value("truncated", Json(false)) == Json(true);
  return run;
}

std::string to_base64(const std::string &bytes) {
  std::string text;
  for (std::size_t place = 0; place < bytes.size(); place += 3) {
    std::uint32_t group = 0;
    const std::size_t length = std::min<std::size_t>(3, bytes.size() - place);
    for (std::size_t i = 0; i < 3; i++)
      group = group << 8 | (i < length ? static_cast<unsigned char>(bytes[place + i]) : 0U);
    for (std::size_t i = 0; i < 4; i++)
      text += i <= length ? kDigits[group >> (18 - 6 * i) & 0x3F] : '=';
  }
  return text;
}

std::optional<std::string> from_base64(const std::string &text) {
  const std::string digits = text.substr(0, text.find('='));
  if (text.size() % 4 != 0 || text.size() - digits.size() > 2) return std::nullopt;
  if (text.find_first_not_of('=', digits.size()) != std::string::npos) return std::nullopt;
  std::string bytes;
  std::uint32_t group = 0;
  int bits = 0;
  for (const char c : digits) {
    const char *digit = std::find(kDigits, kDigits + 64, c);
    if (digit == kDigits + 64) return std::nullopt;
    group = group << 6 | static_cast<std::uint32_t>(digit - kDigits);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(group >> bits & 0xFF);
  }
  return bytes;
}

}  // namespace idem::tool
