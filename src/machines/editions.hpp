// Machines as this session knows them: compiled once, and again after somebody defined a version.

#pragma once

#include "machines/machine.hpp"
#include "machines/store.hpp"
#include "server/prelude.hpp"

namespace idem::machines {

// One version of a machine. Lives until the transaction ends in which it is replaced.
struct Edition {
  const char *name;
  int version;
  const Machine *machine;
};

// The version asked for, or the newest with 0. Raises ID006 when it is missing. Takes no lock and
// reads nothing while no definition has changed; a change counts from the next transaction, or
// lock, or look for news, on.
const Edition *edition_of(const Place &place, const char *name, int version);

// A version that was looked up, for whoever asks about the same one again and again.
struct Known {
  const Edition *edition;
  int version;  // as asked for
  std::uint64_t generation;
};
bool is_known(const Known &known, std::string_view name, int version);
const Edition *look_up(const Place &place, const char *name, int version, Known *known);

[[noreturn]] void refuse_missing(const char *name, int version, bool newest);

// The same, but null when it is missing.
const Edition *find_edition(const Place &place, const char *name, int version);

// The same for the rows of a statement, told by the command that wrote them: the newest version
// stays the one that the statement met first. Looks for news with the first row. InvalidCommandId
// stands for no statement, and always looks.
const Edition *edition_for_command(const Place &place, const char *name, int version,
                                   CommandId command);

// An edition that is not stored, from its diagram, in the current memory context. Throws
// idem::Error (ID400) for a diagram that is wrong.
const Edition *compile_edition(const char *name, int version, const text *diagram);

}  // namespace idem::machines
