// Tables partitioned by the month, in UTC, of a column: making the months, and dropping old ones.

#pragma once

#include "server/prelude.hpp"
#include "server/statement.hpp"

namespace idem::server {

// A table partitioned by range, in the schema of the extension. Its months are named after it, as
// in NAME_2025_03, and so is its default partition, NAME_default. The names are valid without
// quotes.
struct MonthlyTable {
  const char *name;
  const char *time_column;  // timestamptz
  const char *month_index;  // what follows CREATE INDEX ON and the name of a new month
};

Oid parent_of_months(const MonthlyTable &table, const Home &home);

// Makes the partition that takes what comes while its month has none, unless it is there: a write
// must neither fail nor wait for a month to be made.
void provide_default_partition(const MonthlyTable &table, const Home &home);

// Call this before a statement that inserts a row of `time`. Where its month is just being made,
// the statement would choose the default partition, wait for it, and fail because the row no longer
// belongs there.
void await_month(const MonthlyTable &table, const Home &home, TimestampTz time);

// The partition that takes what is of `time`, going by its name: the month, or else the default
// one, or InvalidOid.
Oid partition_for(const MonthlyTable &table, const Home &home, TimestampTz time);

// Makes the month of `now` unless it is there, and the next one if that is near; they take over
// what the default partition has of them. Takes locks that neither reads conflict with nor writes,
// but for those to the default partition. Raises 42P07 when another relation has the name.
void provide_partitions(const MonthlyTable &table, const Home &home, TimestampTz now);

// The same, and one month that passed without having been made while rows of it were left in the
// default partition. Waits for nobody longer than a second; false, with nothing made, if that is
// not enough. For those who can do without: the default partition takes what comes meanwhile.
bool try_to_provide_partitions(const MonthlyTable &table, const Home &home, TimestampTz now);

// Whether anything was ever stored, or is about to be: there is a default partition. Months alone
// do not say so. They may be those of a dump that is being restored, which makes all its months
// before the default partition, and fails where one is there already.
bool is_in_use(const MonthlyTable &table, const Home &home);

// Drops, in this transaction, one month of which everything is older than `retention` seconds.
// Waits for readers of the table no longer than a second and does nothing if that is not enough.
enum class Dropping { nothing_to_drop, dropped, busy };
Dropping drop_old_partition(const MonthlyTable &table, const Home &home, TimestampTz now,
                            int retention);

}  // namespace idem::server
