// The months of the archive and of the history, in a visit of the worker.

#pragma once

#include "cleanup/visit.hpp"

namespace idem::cleanup {

// Makes the months that are needed or soon will be, and drops those that are kept long enough, each
// month in a transaction of its own. A month that somebody uses waits for the next visit. False
// with the first error in `mishap`; what does not depend on it is done all the same.
bool tidy_months(Visit &visit, Mishap *mishap);

}  // namespace idem::cleanup
