"""Has the cleanup worker clean copies of a database that is filled once."""

from __future__ import annotations

import argparse
import sys
import time

from rounds import note
from server import Sessions, copy_database, create_template, database_exists, psql

DATABASE = "bench_cleanup"
CLUSTERED = "bench_expired_clustered"
SPREAD = "bench_expired_spread"

# One visit is to be enough, so that its beginning and its end are those of the work.
ONE_VISIT = {"idem.cleanup": "on", "idem.cleanup_databases": DATABASE, "idem.cleanup_naptime": "1h"}
DEADLINE = 3600


def share(options: argparse.Namespace) -> int:
    """The expired part of the records."""
    return options.records // 10


def provide_template(database: str, options: argparse.Namespace) -> None:
    if database_exists(database):
        return
    spread = "true" if database == SPREAD else "false"
    note(f"filling {database} with {options.records:,} records")
    create_template(database, "expiry", {"records": options.records, "expired": share(options), "spread": spread})


class Cleanup:
    """Has the worker clean a copy of a template."""

    def __init__(self, template: str, settings: str = "") -> None:
        self.sessions = Sessions()
        copy_database(DATABASE, template)
        if settings:
            psql("postgres", f"ALTER DATABASE {DATABASE} SET {settings};")
        # The copy is cold, and so is what the copying left in the log.
        psql(DATABASE, "SELECT pg_prewarm(oid) FROM pg_class WHERE relkind IN ('r', 'i') AND relpages > 0"
                       " AND relpersistence = 'p';\nCHECKPOINT;")
        self.sessions.wait_for_end()

    def start(self) -> None:
        psql(DATABASE, "BEGIN;\nSELECT idem_cleanup_resume();\nSELECT idem_cleanup_now();\nCOMMIT;")

    def ask(self, columns: str, table: str = "idem_records") -> list[str]:
        return psql(DATABASE, f"SELECT {columns} FROM idem_stat_cleanup WHERE relation = '{table}'::regclass;"
                    ).split("|")

    # The view looks for what has expired, in the index that is being cleaned, so it is not asked meanwhile.
    def wait(self, table: str = "idem_records") -> None:
        deadline = time.monotonic() + DEADLINE
        while self.sessions.current() or self.ask("finished_at IS NOT NULL", table) != ["t"]:
            if time.monotonic() > deadline:
                sys.exit("cleanup does not come to an end")
            time.sleep(0.2)
        error = self.ask("last_error", table)
        if error != [""]:
            sys.exit(f"cleanup failed: {error}")
