// Reading and writing idem_machines.

#pragma once

#include "server/prelude.hpp"
#include "server/statement.hpp"

namespace idem::machines {

// Where the machines of the extension are.
struct Place {
  server::Home home;
  Oid machines;
  Oid history_ids;  // the sequence
  Oid code_owner;   // who owns the functions, and may call them all
};

// Next to a function of the extension. Raises 42P01 when the table is not there.
Place place_of(Oid function);

struct StoredMachine {
  int version;  // 0: there is none
  const text *diagram;
};

// The version asked for (0: the newest) as committed by now or written by this transaction,
// whatever its isolation level: a definition is configuration, not data. In the current memory
// context.
StoredMachine read_machine(const Place &place, const char *name, int version);

// Locks that are held until the transaction ends, before those of tables. Whoever defines a version
// takes the one of the machine in EXCLUSIVE mode and that of all machines in ROW EXCLUSIVE mode,
// and so sees all attachments; whoever attaches takes one of the two in SHARE mode, and sees all
// versions.
void lock_machine(const Place &place, const char *name, LOCKMODE mode);
void lock_all_machines(const Place &place, LOCKMODE mode);

// Writes a version, and has every session read the machine again once this commits.
void write_machine(const Place &place, const char *name, int version, const text *diagram);

}  // namespace idem::machines
