"""How many buffers a batch of the cleanup worker looks at."""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import dataclass
from statistics import median

from benchmarks import BuffersBenchmark
from cleanup import DATABASE, ONE_VISIT, Cleanup, share
from report import Result
from rounds import alternate, note
from server import configure, create_template, psql

ATTACHED = "bench_attached"


class OldSnapshot:
    """A session that goes on seeing everything."""

    def __init__(self) -> None:
        self.session = subprocess.Popen(["psql", "-X", "-q", "-A", "-t", "-d", DATABASE], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.session.stdin is not None and self.session.stdout is not None
        self.session.stdin.write("BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT count(*) FROM pg_class;\n")
        self.session.stdin.flush()
        self.session.stdout.readline()

    def end(self) -> None:
        self.session.communicate()


def buffers(table: str) -> int:
    return int(psql(DATABASE, "SELECT heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit"
                              f" FROM pg_statio_all_tables WHERE relid = '{table}'::regclass;"))


@dataclass(frozen=True)
class Touched:
    batches: int
    buffers: int

    def per_batch(self) -> float:
        return self.buffers / self.batches


def touch(table: str, column: str, old_snapshot: bool) -> Touched:
    cleanup = Cleanup(ATTACHED)
    snapshot = OldSnapshot() if old_snapshot else None
    cleanup.sessions.background = cleanup.sessions.children()
    psql(DATABASE, f"SELECT idem_expire_attach('{table}', '{column}', interval '30 days');")
    before = buffers(table)
    cleanup.start()
    cleanup.wait(table)
    batches = int(cleanup.ask("batches", table)[0])
    touched = Touched(batches, buffers(table) - before)
    left = psql(DATABASE, f"SELECT count(*) FROM {table};")
    if snapshot:
        snapshot.end()
    if left != "0":
        sys.exit(f"cleanup left {left} rows of {table}")
    return touched


def count_buffers(benchmark: BuffersBenchmark, options: argparse.Namespace) -> list[Result]:
    rows = share(options) // 2
    create_template(ATTACHED, "attached", {"rows": rows})
    # A visit lasts ten seconds at least; the rate makes three of it.
    results = []
    for visits, settings in (
        ("one visit", ONE_VISIT),
        ("several visits", {**ONE_VISIT, "idem.cleanup_naptime": "1s",
                            "idem.cleanup_rows_per_second": str(max(rows // 25, 1))}),
    ):
        configure(settings)
        for table, column, text in (("visits", "at", "times that differ"), ("days", "day", "five dates")):

            def measure(arm: str, table: str = table, column: str = column) -> Touched:
                return touch(table, column, arm == "old")

            rounds = alternate(["old", "none"], benchmark.rounds, measure)
            values = [measured["old"].per_batch() / measured["none"].per_batch() for measured in rounds]
            ours, theirs = (f"{median(measured[arm].per_batch() for measured in rounds):,.0f} a batch"
                            for arm in ("old", "none"))
            results.append(Result(f"{benchmark.about}, {text}, {visits}", values, ours, theirs, most=benchmark.most))
            note(f"{benchmark.name}: {text}, {visits}: {ours}, {theirs}")
    configure({})
    return results
