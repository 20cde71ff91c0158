// What expires in this database: a rule for the records, one for the producers of streams and one
// for each attached table.

#pragma once

#include "cleanup/premises.hpp"
#include "server/prelude.hpp"

namespace idem::cleanup {

struct Rule {
  Oid table;
  bool own;           // a table of the extension, which needs no attachment
  bool records;       // idem_records, whose own columns and scopes decide
  AttrNumber column;  // the time from which rows count
  Interval after;
  int batch;    // rows for one transaction; 0: as idem.cleanup_batch says
  Oid archive;  // where rows go instead, or InvalidOid: nowhere; of records, once it is held
  bool held;    // restored from a dump, and nobody has said yet that the restore is complete
};

// A list of Rule *, the extension's own tables first, in the current memory context; attachments of
// tables that no longer exist are left out. Call inside a transaction.
List *rules_of(const Premises &premises);

Rule rule_for_producers(const Premises &premises);

// Whether rows of idem_records can be told by their addresses: it is an ordinary table here, and
// idem.direct_access is on.
bool has_addresses(Oid records);

// Reads the rule of a table again, for a batch that must not outlive it: whoever changes it waits
// until the transaction ends, and finds no batch at work on the former one. False when the table is
// no longer attached, or somebody is about to change that.
bool hold_rule(const Premises &premises, Oid table, Rule *rule);

// Deletes the attachments of tables that no longer exist, and writes down new names of the others.
void tidy(const Premises &premises);

// Writes an attachment, in place of a former one of the table.
void attach(const Premises &premises, const Rule &rule, const char *column);
bool detach(const Premises &premises, Oid table);

// Releases the tables held after a restore, and warns of those that cannot be. Returns whether
// there were any of the first.
bool release_held(const Premises &premises);

// The relations with rows of their own that the rule is about: the table, or its partitions and
// children.
List *leaves_of(const Rule &rule);

// The latest value of the rule's column in `relation` at which a row is expired at `now`, as a
// Datum of the column's type.
Datum expired_up_to(const Rule &rule, Oid column_type, TimestampTz now);

// When a row with this value expires.
TimestampTz expiry_of(const Rule &rule, Oid column_type, Datum value);

}  // namespace idem::cleanup
