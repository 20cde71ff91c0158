// File names for the names of locks.

#pragma once

#include <string>

namespace idem::tool {

// Letters, digits, '-', '_' and '.' stand for themselves, every other byte is %XX. A name that
// would be too long for a file ends in a digest of the whole.
std::string file_name_of(const std::string &name);

}  // namespace idem::tool
