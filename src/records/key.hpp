// Building keys out of parts, so that different parts never give the same key.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace idem::records {

// Joins the parts with ':'. In each part '%', ':' and '/' become %25, %3A and %2F, so the parts can
// be told apart again. Bytes are taken as they are: every server encoding keeps ASCII to itself.
// Throws idem::Error (ID400) for no parts, an empty part, or a key of more than kMaxKeyBytes.
std::string make_key(const std::vector<std::string_view> &parts);

// The bytes that a part has in a key.
std::size_t size_in_key(std::string_view part);

// parent + '/' + step, the step escaped as above. The parent is taken as it is, so children nest,
// and a child never equals a key made by make_key, which holds no bare '/'. Throws idem::Error
// (ID400) for an empty parent or step, or a key of more than kMaxKeyBytes.
std::string make_child_key(std::string_view parent, std::string_view step);

}  // namespace idem::records
